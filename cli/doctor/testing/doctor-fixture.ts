import { createServer, type RequestListener } from "node:http";
import { onTestFinished } from "vitest";
import { listenLocally } from "#daemon/testing/local-server.ts";
import { createMask } from "#daemon/secrets/mask.ts";
import { version } from "#daemon/version.ts";
import { diagnose, type DiagnoseOptions } from "../diagnose.ts";
import type { Finding } from "../finding.ts";

const nowMs = Date.parse("2026-01-01T12:00:00.000Z");
export const key = `0x${"11".repeat(32)}`;

/** Starts a server with this listener until the test ends; returns its URL. */
export async function serve(listener: RequestListener): Promise<string> {
  const server = await listenLocally(createServer(listener));
  onTestFinished(server[Symbol.asyncDispose]);
  return server.url;
}

/** Starts a service's operations listener with these responses; returns its URL. */
export async function startServiceThat(said: {
  service: string;
  version?: string;
  checks?: object;
  files?: readonly object[];
  conditions?: readonly object[];
}) {
  const responses: Readonly<Record<string, string>> = {
    "/configuration": JSON.stringify({ version, files: [], ...said }),
    "/readyz": JSON.stringify({ checks: said.checks ?? { port: { ok: true, message: "open" } } }),
    "/status": JSON.stringify({ conditions: said.conditions ?? [] }),
    "/metrics": `# HELP x y\ngatehouse_time_seconds ${nowMs / 1_000}\n`,
  };
  return serve(({ url = "" }, response) => response.end(responses[url]));
}

export async function startNodeThat(results: Readonly<Record<string, unknown>>) {
  const all = { eth_chainId: "0x688", eth_gasPrice: "0x3b9aca00", ...results };
  return serve((request, response) => {
    let body = "";
    request.on("data", (chunk: Buffer) => (body += chunk.toString()));
    request.on("end", () => {
      const { method, id } = JSON.parse(body) as { method: keyof typeof all; id: number };
      response.end(JSON.stringify({ jsonrpc: "2.0", id, result: all[method] }));
    });
  });
}

type Run = Readonly<{ status: number; findings: readonly Finding[]; out: string; error: string }>;

/** Runs the command's checks with only the given services and options. */
export async function runDoctor(options: Partial<DiagnoseOptions>): Promise<Run> {
  let [out, error] = ["", ""];
  const status = await diagnose(
    {
      urls: {},
      settings: {},
      env: {},
      bundle: undefined,
      logs: [],
      json: true,
      ...options,
    },
    {
      out: (text) => void (out += text),
      error: (text) => void (error += text),
      isColored: false,
      mask: createMask(),
      clock: () => nowMs,
    },
  );
  const findings = options.json === false ? [] : (JSON.parse(out) as { findings: Finding[] }).findings;
  return { status, out, error, findings };
}

/** Lists the findings of one check, as `state: message`. */
export function listFindings({ findings }: Run, check: string): readonly string[] {
  return findings.filter((finding) => finding.check === check).map(({ state, message }) => `${state}: ${message}`);
}

export const facilitator = (rpcUrl: string, more: Readonly<Record<string, string>> = {}) => ({
  GATEHOUSE_FACILITATOR_CHAIN_RPC_URL: rpcUrl,
  GATEHOUSE_FACILITATOR_SIGNER_PRIVATE_KEY: key,
  GATEHOUSE_FACILITATOR_ASSETS: JSON.stringify([{ address: `0x${"22".repeat(20)}`, name: "USDC", version: "2" }]),
  ...more,
});
