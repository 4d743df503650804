import { once } from "node:events";
import { stat } from "node:fs/promises";
import { connect } from "node:net";
import { quoteShellWord } from "#daemon/command-line/shell-word.ts";
import { findReachedHost, formatAuthority } from "#daemon/http/address.ts";
import { toEnvironmentName } from "#daemon/settings/leaf.ts";
import { version } from "#daemon/version.ts";
import { isUnexpectedlyUnknown } from "#status/verdict.ts";
import { checkLimits, type InspectedService } from "../inspect-service.ts";
import type { Check, Judgement } from "../finding.ts";
import { runningHereSource, type ConfiguredSecret, type RequestedListener, type GasPayer } from "../known-service.ts";
import { checkService } from "./service-check.ts";
import { formatEther } from "viem/utils";
import { privateKeyToAddress } from "viem/accounts";
import { createJsonRpcClient, NoJsonRpcResponseError } from "#daemon/http/json-rpc-client.ts";
import type { Secret } from "#daemon/secrets/secret.ts";
import { maskCredentials } from "#daemon/secrets/mask.ts";

/** All checks of `gatehouse doctor`, by name; causes precede their consequences. */
export const checks: Readonly<Record<string, Check>> = {
  settings: checkSettings,
  keys: checkKeys,
  ports: checkPorts,
  service: checkService,
  versions: checkVersion,
  conditions: checkConditions,
  signer: checkSigner,
};

function* checkSettings({ service, source, settings, configuration }: InspectedService): Generator<Judgement> {
  if (settings?.ok === true) return yield ["ok", `can be read (${source})`];
  for (const problem of settings?.problems ?? []) yield ["failed", problem];
  if (settings !== undefined || configuration === undefined) return;
  const where = source === runningHereSource ? "" : " on its machine";
  const advice = `run this${where} with its ${toEnvironmentName(service, [])}_… variables, or pass --settings ${service}=<file>`;
  yield [
    "skipped",
    `they were checked only at startup, because only the address is known (${source}); to check them, ${advice}`,
  ];
}

async function* checkKeys({ settings }: InspectedService): AsyncGenerator<Judgement> {
  if (settings?.ok !== true) return;
  if (settings.secrets.length === 0) yield ["ok", "needs no secrets"];
  for (const secret of settings.secrets) yield await checkKey(secret);
}

/** Permission bits for users who are neither the owner nor in the group. */
const othersMode = 0o007;

async function checkKey({ setting, variable, file }: ConfiguredSecret): Promise<Judgement> {
  if (file === undefined) return ["ok", `${setting} is set by the variable ${variable}`];
  try {
    const { mode } = await stat(file);
    if ((mode & othersMode) === 0) return ["ok", `${setting} is in ${file}, which other users can't read`];
    const fix = `run \`chmod o= ${quoteShellWord(file)}\``;
    return ["failed", `${setting} is in ${file}, which every user of this machine can read or change; ${fix}`];
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code ?? "unknown";
    return ["unknown", `${setting} is in ${file}, whose mode can't be read (${code})`];
  }
}

/** Checks that each port is open while its service runs, free while it doesn't, and used by only one listener. */
async function* checkPorts(service: InspectedService, all: readonly InspectedService[]): AsyncGenerator<Judgement> {
  const otherListeners = all.flatMap(listListeners);
  const runs = service.configuration?.service === service.service;
  yield* await Promise.all(listListeners(service).map((listener) => checkPort(listener, otherListeners, runs)));
}

function listListeners({ settings }: InspectedService): readonly RequestedListener[] {
  // Port 0 means any free port.
  return settings?.ok === true ? settings.facts.listeners.filter(({ port }) => port !== 0) : [];
}

async function checkPort(
  listener: RequestedListener,
  all: readonly RequestedListener[],
  runs: boolean,
): Promise<Judgement> {
  const { port, setting } = listener;
  const host = findReachedHost(listener.host);
  const rival = all.find((one) => one !== listener && one.port === port && findReachedHost(one.host) === host);
  if (rival !== undefined) {
    return ["failed", `${setting} and ${rival.setting} both use port ${port}; change one of them`];
  }
  const at = `${formatAuthority(host, port)} (${setting})`;
  const state = await testPort(host, port);
  if (state === "unknown") return ["unknown", `${at} neither accepts nor refuses connections`];
  if (runs && state === "open") return ["ok", `listens at ${at}`];
  if (runs) {
    return ["failed", `runs but does not listen at ${at}: its settings changed after it started; restart it`];
  }
  if (state === "free") return ["ok", `${at} is free`];
  const fix = `find it with \`ss -ltnp 'sport = :${port}'\` and stop it, or set ${setting} to another port`;
  return ["failed", `${at} is used by another process; ${fix}`];
}

async function testPort(host: string, port: number): Promise<"open" | "free" | "unknown"> {
  const socket = connect({ host, port, signal: AbortSignal.timeout(checkLimits.timeoutMs) });
  try {
    await once(socket, "connect");
    return "open";
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === "ECONNREFUSED" ? "free" : "unknown";
  } finally {
    socket.destroy();
  }
}

function* checkVersion({ service, configuration }: InspectedService): Generator<Judgement> {
  if (configuration?.service !== service) return;
  const runningVersion = configuration.version;
  if (runningVersion === version) return yield ["ok", `runs ${version}, the same as this command`];
  const fix = `restart the service with this version, or run gatehouse doctor of ${runningVersion}`;
  yield ["failed", `runs ${runningVersion}, but this command is ${version}; ${fix}`];
}

function* checkConditions({ service, configuration, status }: InspectedService): Generator<Judgement> {
  if (configuration?.service !== service || (service !== "sidecar" && service !== "gateway")) return;
  if (status === undefined) return yield ["unknown", "it reports nothing about its node: /status does not respond"];
  const { conditions } = status;
  if (conditions.length === 0) return yield ["unknown", "it has just started and has not checked its node yet"];
  const unmet = conditions.filter((condition) => condition.status === "False");
  for (const { type, message } of unmet) yield ["failed", `${type}: ${message}`];
  if (unmet.length > 0) return;
  const unknownConditions = conditions.filter((condition) => condition.status === "Unknown");
  const unexpectedConditions = unknownConditions.filter(isUnexpectedlyUnknown);
  for (const { type, message } of unexpectedConditions) yield ["unknown", `${type}: ${message}`];
  const expected = unknownConditions.filter((condition) => !isUnexpectedlyUnknown(condition)).map(({ type }) => type);
  const expectedText = expected.length === 0 ? "" : `; expected to be unknown: ${expected.join(", ")}`;
  const known = conditions.length - unknownConditions.length;
  yield ["ok", `${known} of ${conditions.length} conditions of its node are True${expectedText}`];
}

/** Number of settlements that the signer's balance must cover at the current gas price. */
const minSettlements = 100n;
const gwei = 1_000_000_000;

async function* checkSigner(service: InspectedService): AsyncGenerator<Judgement> {
  const { settings, readiness } = service;
  const gasPayers = settings?.ok === true ? settings.facts.gasPayers : [];
  const keys = gasPayers.flatMap((payer) => payer.privateKeys.map((key) => ({ key, payer })));
  yield* await Promise.all(keys.map(({ key, payer }) => checkBalance(key, payer)));
  if (keys.length > 0 || service.service !== "facilitator" || service.configuration === undefined) return;
  const said = readiness?.checks["signer"];
  if (said !== undefined) yield [said.ok ? "ok" : "failed", `its signer: ${said.message}`];
  else yield ["unknown", "its signer's balance is unknown: neither its settings nor its /readyz report it"];
}

async function checkBalance(key: Secret, { rpcUrl, gasLimit, maxFeePerGasGwei }: GasPayer): Promise<Judgement> {
  const address = deriveAddress(key.reveal());
  if (address === undefined) return ["failed", "its key is not a secp256k1 private key; set the signer's key"];
  const call = createJsonRpcClient({ url: rpcUrl, ...checkLimits });
  const node = maskCredentials(rpcUrl);
  try {
    const [balance, price] = [await call("eth_getBalance", [address, "latest"]), await call("eth_gasPrice", [])];
    const held = balance.ok ? parseBalance(balance.result) : undefined;
    const gasPrice = price.ok ? parseBalance(price.result) : undefined;
    if (held === undefined || gasPrice === undefined) {
      return ["unknown", `${node} does not report the balance of ${address} or the gas price`];
    }
    const most = BigInt(Math.round(maxFeePerGasGwei * gwei));
    const cost = BigInt(gasLimit) * (gasPrice < most ? gasPrice : most);
    const settlements = cost === 0n ? minSettlements : held / cost;
    const shown = `its signer ${address} holds ${formatEther(held)} in native currency`;
    if (held > 0n && settlements >= minSettlements) {
      return ["ok", `${shown}, enough for ${minSettlements} settlements at the current gas price`];
    }
    const fix = `top it up: ${formatEther(cost * minSettlements)} is enough for ${minSettlements}`;
    return ["failed", `${shown}, enough for ${settlements} settlements at the current gas price; ${fix}`];
  } catch (error) {
    if (!(error instanceof NoJsonRpcResponseError)) throw error;
    const why = `${node} is not responding (${error.message})`;
    return ["unknown", `the balance of its signer ${address} can't be queried: ${why}`];
  }
}

function deriveAddress(privateKey: string): string | undefined {
  try {
    return privateKeyToAddress(privateKey as `0x${string}`);
  } catch {
    // The key is zero, or not below the group order. The error is not rethrown, because it quotes the key.
    return undefined;
  }
}

function parseBalance(result: unknown): bigint | undefined {
  return typeof result === "string" && /^0x[0-9a-f]{1,64}$/i.test(result) ? BigInt(result) : undefined;
}
