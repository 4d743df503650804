/**
 * The images' health check: `health-check.mjs http|rpc <url> [rest]` or `health-check.mjs socket <path> [rest]`. `http` wants a 2xx answer,
 * `rpc` a block number from `eth_blockNumber`, `socket` a 2xx answer to `/livez` on a Unix socket. Ends with status 0 when the service is
 * well, 1 with a line that says why not, 2 when called wrongly.
 *
 * Engines before Docker 25 know one interval, which has to be short for a start to be seen quickly. So where it is run again within seconds of
 * having found the service well, it rests first, `rest` milliseconds: most of the interval of a newer engine.
 *
 * Its start is its whole cost: JavaScript, because stripping types takes longer than all else, and node:http from `getBuiltinModule`,
 * because an import of it loads the WebSocket client too. That is 60 ms of processor time instead of 240.
 */
const { request } = process.getBuiltinModule("node:http");
const { rmSync, statSync, writeFileSync } = process.getBuiltinModule("node:fs");

/** A file whose time says when the service was last found well; the container's own, and gone when it is started again. */
const marker = `${process.env.TMPDIR ?? "/tmp"}/gatehouse-well`;
const recentMs = 10_000;
const defaultRestMs = 28_000;

const deadlineMs = 4_000;
const answerLimitBytes = 65_536;
const blockNumber = '{"jsonrpc":"2.0","method":"eth_blockNumber","params":[],"id":1}';

const isSuccess = ({ status, text }) =>
  status >= 200 && status < 300 ? undefined : `HTTP ${status}: ${text.slice(0, 2_000)}`;
const isBlockNumber = ({ text }) =>
  /"result"\s*:\s*"0x[0-9a-f]+"/.test(text) ? undefined : "eth_blockNumber gave no block number";

const checks = {
  http: async (url) => isSuccess(await ask(url, {})),
  rpc: async (url) =>
    isBlockNumber(await ask(url, { method: "POST", headers: { "Content-Type": "application/json" } }, blockNumber)),
  socket: async (socketPath) => isSuccess(await ask("http://gatehouse/livez", { socketPath })),
};

/** Sends one request and gives the answer's status and text. */
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
    const timer = setTimeout(() => outgoing.destroy(new Error(`nothing within ${deadlineMs} ms`)), deadlineMs);
    outgoing.once("close", () => clearTimeout(timer));
    outgoing.once("error", reject);
    outgoing.end(body);
  });
}

function wasJustWell() {
  const found = statSync(marker, { throwIfNoEntry: false });
  return found !== undefined && Date.now() - found.mtimeMs < recentMs;
}

function noteWell(isWell) {
  try {
    if (isWell) writeFileSync(marker, "");
    else rmSync(marker, { force: true });
  } catch {
    // Nowhere to note it: the next check asks at once, which costs more and says the same.
  }
}

const [kind = "", target, rest = String(defaultRestMs)] = process.argv.slice(2);
const check = Object.hasOwn(checks, kind) ? checks[kind] : undefined;
if (check === undefined || target === undefined) {
  process.stderr.write("usage: health-check.mjs http|rpc <url> [rest], or health-check.mjs socket <path> [rest]\n");
  process.exitCode = 2;
} else {
  if (wasJustWell()) await new Promise((resolve) => setTimeout(resolve, Number(rest)));
  const problem = await check(target).catch((error) => `no answer from ${target}: ${error.message}`);
  noteWell(problem === undefined);
  if (problem !== undefined) {
    process.stderr.write(`${problem}\n`);
    process.exitCode = 1;
  }
}
