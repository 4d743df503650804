import { createProcessRateLimiter } from "../limits/rate-limiter.ts";
import { Counter, type Registry } from "prom-client";
import { createNamedHostCheck, isLoopback } from "#daemon/http/address.ts";
import type { ActiveFiles } from "#daemon/files/active-files.ts";
import type { Logger } from "#daemon/log/log.ts";
import type { ConnectionBudget } from "#daemon/http/connections/connection-budget.ts";
import {
  findClientAddress,
  createNetworkList,
  toAddressKey,
  type ClientAddress,
} from "#daemon/http/proxies/client-address.ts";
import type { Pause } from "#daemon/time.ts";
import { watchFile, type WatchedFileDependencies } from "#daemon/files/watched-file.ts";
import type { ListenerName } from "../catalogue/method.ts";
import type { ApiKeys } from "../callers/api-key-file.ts";
import { identifyByAddress, identifyByCredential, type Identify, logProxyNotices } from "../callers/identify.ts";
import type { TokenDependencies, Tokens } from "../callers/tokens.ts";
import type { Meter } from "../observe/meter.ts";
import type { SettingNames } from "../settings/names.ts";
import type { GatewaySettings } from "../settings/sections.ts";
import type { SubscriptionHub } from "../notifications/subscription-hub.ts";
import type { PeerInfo } from "../callers/request-facts.ts";
import type { SharedContext } from "./listener-context.ts";
import { httpErrors, notAllowed } from "./http-errors.ts";
import { buildHeadAgeHeaders, createCorsHeaders } from "./response-headers.ts";
import { startListener, type Listener } from "./listener.ts";

export type ListenersDependencies = SharedContext &
  Readonly<{
    hub: SubscriptionHub;
    connections: ConnectionBudget;
    /** Returns the age of the node's latest block; undefined while unknown. */
    blockAgeMs: () => number | undefined;
    metrics: Registry;
    limited: Meter["limited"];
    settingNames: SettingNames;
    files: ActiveFiles;
    log: Logger;
    pause: Pause;
  }>;

/** The listeners that the settings configure. */
export type Listeners = AsyncDisposable &
  Readonly<{ urls: Readonly<Record<string, string>>; webSockets: () => number; subscriptions: () => number }>;

/**
 * Starts those of the public, private and internal listeners that are enabled.
 *
 * @throws {StartupError} when a listener can't listen; those already started are closed again.
 */
export async function startListeners(
  settings: GatewaySettings,
  { connections, blockAgeMs, metrics, settingNames, files, log, ...shared }: ListenersDependencies,
): Promise<Listeners> {
  await using started = new AsyncDisposableStack();
  const client = findClientAddress(settings.callers);
  const notice = logProxyNotices(settings.callers, { log, settingNames, now: () => performance.now() });
  const countDrop = createDropCounter(metrics);
  const tookSlowPath = createSlowPathCounter(metrics);
  const hasOthers = settings.private.enabled || settings.internal.enabled;
  const byName = new Map<ListenerName, Listener>();
  const directClient = findClientAddress({ ...settings.callers, trustedProxies: [] });
  const start = async (name: ListenerName, identify: Identify) => {
    const { host, port } = settings[name];
    const isInternal = name === "internal";
    const { networks, allowedHosts } = settings.internal;
    const listener = await startListener(
      {
        ...settings.listener,
        host,
        port,
        setting: settingNames.variable(`${name}.port`),
        webSocket: { ...settings.webSocket, ...(name === "private" ? { recheckMs: settings.callers.recheckMs } : {}) },
        // The internal listener never has a proxy in front of it.
        ...(settings.callers.proxyProtocol && !isInternal ? { isTrustedProxy: client.isTrusted } : {}),
        ...(isInternal
          ? { peers: { mayCall: createNetworkList(networks), setting: settingNames.key("internal.networks") } }
          : {}),
      },
      {
        ...shared,
        identify,
        identifiesByAddress: name !== "private",
        addressOf: createPeerAddress(isInternal ? directClient : client),
        connections: connections.listener({ name, leavesRoom: name === "public" && hasOthers }),
        // The internal listener's callers are the operator's own programs, which are not limited by address.
        ...(isInternal ? {} : { isProxy: client.isTrusted }),
        dropped: countDrop,
        tookSlowPath: () => tookSlowPath(name),
        ageHeaders: () => buildHeadAgeHeaders(blockAgeMs(), settings.head.tellAgeAfterMs),
        corsHeaders: createCorsHeaders(isInternal ? [] : listOrigins(host, settings)),
        rejections: createRejections(isInternal, settingNames),
        isAllowedHost: isInternal && allowedHosts.length > 0 ? createNamedHostCheck(allowedHosts) : () => true,
      },
    );
    byName.set(name, started.use(listener));
  };
  if (settings.public.enabled) {
    await start("public", identifyByAddress("public", "public", { client, notice }));
  }
  if (settings.private.enabled) {
    const keys = started.use(await watchApiKeys(settings.callers.keysPath, { log, files, settingNames }));
    const tokens = started.use(await startTokens(settings.jwt, { log, files, settingNames, wallClock: Date.now }));
    const credentials = { apiKeys: keys.current, tokens, policy: shared.policy };
    const verifications = createProcessRateLimiter(settings.rateStore, { now: () => performance.now() });
    await start(
      "private",
      identifyByCredential({ ...credentials, verifications, addressOf: createPeerAddress(client) }),
    );
  }
  if (settings.internal.enabled) {
    await start("internal", identifyByAddress("internal", "internal", { client: directClient }));
  }
  const sum = (count: (listener: Listener) => number) => byName.values().reduce((all, one) => all + count(one), 0);
  const resources = started.move();
  return {
    urls: Object.fromEntries([...byName].map(([name, { url }]) => [name, url])),
    webSockets: () => sum((listener) => listener.webSockets()),
    subscriptions: () => sum((listener) => listener.subscriptions()),
    [Symbol.asyncDispose]: () => resources.disposeAsync(),
  };
}

/**
 * Starts verifying callers' tokens if the settings specify a key set; otherwise jose is not even loaded.
 *
 * @throws {StartupError} when the key set file can't be used.
 */
async function startTokens(
  options: GatewaySettings["jwt"],
  dependencies: TokenDependencies,
): Promise<Tokens | undefined> {
  if (options.jwksUrl === undefined && options.jwksPath === undefined) return undefined;
  const { createTokens } = await import("../callers/tokens.ts");
  return createTokens(options, dependencies);
}

function createRejections(isInternal: boolean, { key }: SettingNames) {
  return {
    host: notAllowed("Host", key("internal.allowedHosts")),
    origin: isInternal ? httpErrors.foreignOrigin : notAllowed("Origin", key("callers.corsOrigins")),
  };
}

/** Lists the origins whose pages are allowed. A loopback listener serves this machine's programs, but not pages in a browser on it. */
function listOrigins(host: string, { callers }: GatewaySettings): readonly string[] {
  return callers.corsOrigins ?? (isLoopback(host) ? [] : ["*"]);
}

async function watchApiKeys(
  path: string | undefined,
  { settingNames, ...dependencies }: WatchedFileDependencies & Readonly<{ settingNames: SettingNames }>,
) {
  let keys: ApiKeys | undefined;
  if (path === undefined) return { current: () => keys, [Symbol.asyncDispose]: async () => undefined };
  const { readApiKeys } = await import("../callers/api-key-file.ts");
  const apply = (read: ApiKeys) => void (keys = read);
  const setting = settingNames.key("callers.keysPath");
  return { current: () => keys, ...(await watchFile({ path, setting, read: readApiKeys, apply }, dependencies)) };
}

/** Creates the function that returns the address (IPv6: /64) under which a client's memory is counted, as trusted proxies report it. */
export function createPeerAddress(client: ClientAddress): (peer: PeerInfo) => string {
  return (peer) => toAddressKey(client.of(peer.remoteAddress, peer.forwardedFor));
}

/** Creates the counter for dropped WebSocket clients, by reason. */
export function createDropCounter(metrics: Registry): (reason: "slow" | "lost" | "silent" | "withdrawn") => void {
  const drops = new Counter({
    name: "gatehouse_gateway_websocket_drops_total",
    help: "WebSocket clients dropped by the gateway: too slow, node connection lost, or unresponsive.",
    labelNames: ["reason"],
    registers: [metrics],
  });
  return (reason) => drops.inc({ reason });
}

/** Creates the counter for requests served by node:http, by listener. */
export function createSlowPathCounter(metrics: Registry): (listener: ListenerName) => void {
  const requests = new Counter({
    name: "gatehouse_gateway_slow_path_requests_total",
    help: "HTTP requests not served on the fast path, at several times its CPU cost, by listener.",
    labelNames: ["listener"],
    registers: [metrics],
  });
  return (listener) => requests.inc({ listener });
}
