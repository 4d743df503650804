/**
 * Serves one file at every path, with byte ranges (RFC 9110, section 14): `archive-server.mjs <file> <port> <bytes per
 * second>`. A whole file is sent at that speed, a range immediately. Prints each requested range.
 */
import { createReadStream, statSync } from "node:fs";
import { createServer } from "node:http";
import { setTimeout as sleep } from "node:timers/promises";

const [path, port, speed] = process.argv.slice(2);
const { size } = statSync(path);
const stepMs = 50;
const stepBytes = Math.ceil((Number(speed) * stepMs) / 1_000);

async function sendSlowly(response) {
  for await (const chunk of createReadStream(path, { highWaterMark: stepBytes })) {
    if (response.destroyed) return;
    response.write(chunk);
    await sleep(stepMs);
  }
  response.end();
}

createServer((request, response) => {
  const { range = "whole" } = request.headers;
  process.stdout.write(`requested ${range}\n`);
  const from = Number(/^bytes=(\d+)-$/.exec(range)?.[1] ?? 0);
  const headers = { etag: '"1"', "content-length": size - from };
  if (from === 0) {
    response.writeHead(200, headers);
    void sendSlowly(response);
    return;
  }
  response.writeHead(206, { ...headers, "content-range": `bytes ${from}-${size - 1}/${size}` });
  createReadStream(path, { start: from }).pipe(response);
}).listen(Number(port));
