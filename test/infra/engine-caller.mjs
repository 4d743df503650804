/**
 * Runs in the sidecar's container and acts as an intruder: sends each raw call over a new connection to the engine proxy's socket, and
 * prints the status of each response (0: the connection was closed without a response).
 */
const { connect } = process.getBuiltinModule("node:net");
const [socketPath, calls] = process.argv.slice(1);
const deadlineMs = 10_000;

function send({ method, target, body = "" }) {
  const lines = [
    `${method} ${target} HTTP/1.1`,
    "Host: docker",
    `Content-Length: ${Buffer.byteLength(body)}`,
    "Connection: close",
  ];
  return new Promise((resolve) => {
    let answer = "";
    const socket = connect(socketPath, () => socket.write(`${lines.join("\r\n")}\r\n\r\n${body}`));
    const done = () => {
      socket.destroy();
      resolve(Number(/^HTTP\/1\.1 (\d+)/.exec(answer)?.[1] ?? 0));
    };
    socket.setTimeout(deadlineMs, done).on("data", (chunk) => {
      // "100 Continue" is not a final response.
      answer = (answer + chunk).replace(/^HTTP\/1\.1 100 [^]*?\r\n\r\n/, "");
      if (answer.includes("\r\n\r\n")) done();
    });
    // A rejected connection has no status; 0 is printed.
    socket.once("error", done).once("close", done);
  });
}

const statuses = [];
for (const call of JSON.parse(calls)) statuses.push(await send(call));
process.stdout.write(JSON.stringify(statuses));
