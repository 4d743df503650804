import { request } from "node:http";

/**
 * The images' health check: `health-check.ts http|rpc <url>` or `health-check.ts socket <path>`. `http` wants a 2xx answer, `rpc`
 * a block number from `eth_blockNumber`, `socket` a 2xx answer to `/livez` on a Unix socket. Ends with status 0 when the service is
 * well, 1 with a line that says why not, 2 when called wrongly.
 */
const deadlineMs = 4_000;

const checks: Readonly<Record<string, (target: string) => Promise<string | undefined>>> = {
  http: async (url) => {
    const response = await fetch(url, { signal: AbortSignal.timeout(deadlineMs) });
    return response.ok ? undefined : `HTTP ${response.status}: ${(await response.text()).slice(0, 500)}`;
  },
  rpc: async (url) => {
    const response = await fetch(url, {
      method: "POST",
      headers: { "Content-Type": "application/json" },
      body: '{"jsonrpc":"2.0","method":"eth_blockNumber","params":[],"id":1}',
      signal: AbortSignal.timeout(deadlineMs),
    });
    const { result } = (await response.json()) as { result?: unknown };
    const right = typeof result === "string" && /^0x[0-9a-f]+$/.test(result);
    return right ? undefined : "eth_blockNumber gave no block number";
  },
  socket: (socketPath) =>
    new Promise((resolve, reject) => {
      request({ socketPath, path: "/livez", signal: AbortSignal.timeout(deadlineMs) }, (response) => {
        const { statusCode = 0 } = response;
        response.resume();
        resolve(statusCode >= 200 && statusCode < 300 ? undefined : `HTTP ${statusCode}`);
      })
        .once("error", reject)
        .end();
    }),
};

const [kind = "", target] = process.argv.slice(2);
const check = checks[kind];
if (check === undefined || target === undefined) {
  process.stderr.write("usage: health-check.ts http|rpc <url>, or health-check.ts socket <path>\n");
  process.exitCode = 2;
} else {
  const problem = await check(target).catch((error: unknown) => `no answer from ${target}: ${String(error)}`);
  if (problem !== undefined) {
    process.stderr.write(`${problem}\n`);
    process.exitCode = 1;
  }
}
