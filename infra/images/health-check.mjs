/**
 * The images' health check: `health-check.mjs http|rpc <url> [rest]` or `health-check.mjs socket <path> [rest]`. `http` expects a 2xx
 * response, `rpc` a block number from `eth_blockNumber`, and `socket` a 2xx response to `/livez` on a Unix socket. Exits with status 0 if
 * the service is healthy, 1 and a one-line reason if not, or 2 on a usage error.
 *
 * Engines before Docker 25 support only one interval, which must be short so that startup is detected quickly. So if the check runs again
 * within seconds of a healthy result, it first sleeps for `rest` milliseconds, which is most of a newer engine's interval.
 *
 * Startup dominates the cost of the check. The check is written in JavaScript, because stripping types takes longer than everything else.
 * It gets node:http from `getBuiltinModule`, because importing it also loads the WebSocket client: 60 ms of processor time instead of 240.
 */
const { request } = process.getBuiltinModule("node:http");
const { rmSync, statSync, writeFileSync } = process.getBuiltinModule("node:fs");

/**
 * The modification time of this file records when the service was last healthy. The file is local to the container and is removed when the
 * container restarts.
 */
const marker = `${process.env.TMPDIR ?? "/tmp"}/gatehouse-healthy`;
const recentMs = 10_000;
const defaultRestMs = 28_000;

const deadlineMs = 4_000;
const answerLimitBytes = 65_536;
const blockNumber = '{"jsonrpc":"2.0","method":"eth_blockNumber","params":[],"id":1}';

const isSuccess = ({ status, text }) =>
  status >= 200 && status < 300 ? undefined : `HTTP ${status}: ${text.slice(0, 2_000)}`;
const isBlockNumber = ({ text }) =>
  /"result"\s*:\s*"0x[0-9a-f]+"/.test(text) ? undefined : "eth_blockNumber returned no block number";

const checks = {
  http: async (url) => isSuccess(await ask(url, {})),
  rpc: async (url) =>
    isBlockNumber(await ask(url, { method: "POST", headers: { "Content-Type": "application/json" } }, blockNumber)),
  socket: async (socketPath) => isSuccess(await ask("http://gatehouse/livez", { socketPath })),
};

function ask(url, options, body) {
  return new Promise((resolve, reject) => {
    const outgoing = request(url, { ...options, agent: false }, (response) => {
      let text = "";
      response.setEncoding("utf8").on("data", (chunk) => {
        text += chunk;
        if (text.length > answerLimitBytes) outgoing.destroy(new Error(`more than ${answerLimitBytes} bytes`));
      });
      response.once("end", () => resolve({ status: response.statusCode, text }));
    });
    const timer = setTimeout(() => outgoing.destroy(new Error(`no response within ${deadlineMs} ms`)), deadlineMs);
    outgoing.once("close", () => clearTimeout(timer));
    outgoing.once("error", reject);
    outgoing.end(body);
  });
}

function wasRecentlyHealthy() {
  const found = statSync(marker, { throwIfNoEntry: false });
  return found !== undefined && Date.now() - found.mtimeMs < recentMs;
}

function recordHealth(isHealthy) {
  try {
    if (isHealthy) writeFileSync(marker, "");
    else rmSync(marker, { force: true });
  } catch {
    // The marker can't be written, so the next check queries at once, which costs more but has the same result.
  }
}

const [kind = "", target, rest = String(defaultRestMs)] = process.argv.slice(2);
const check = Object.hasOwn(checks, kind) ? checks[kind] : undefined;
if (check === undefined || target === undefined) {
  process.stderr.write("usage: health-check.mjs http|rpc <url> [rest], or health-check.mjs socket <path> [rest]\n");
  process.exitCode = 2;
} else {
  if (wasRecentlyHealthy()) await new Promise((resolve) => setTimeout(resolve, Number(rest)));
  const problem = await check(target).catch((error) => `no response from ${target}: ${error.message}`);
  recordHealth(problem === undefined);
  if (problem !== undefined) {
    process.stderr.write(`${problem}\n`);
    process.exitCode = 1;
  }
}
