import { describe, expect, it } from "vitest";
import { sendRaw } from "#gateway/testing/raw-exchange.ts";
import { type TestGateway } from "#gateway/testing/test-gateway.ts";
import { bothPaths, useGateway } from "#gateway/testing/use-gateway.ts";

const call = '{"jsonrpc":"2.0","id":1,"method":"eth_chainId"}';
const chunked = (sizes: readonly number[], body: string) => {
  let at = 0;
  const parts = sizes.map((size) => {
    at += size;
    return `${size.toString(16)}\r\n${body.slice(at - size, at)}\r\n`;
  });
  return `POST / HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n${parts.join("")}0\r\n\r\n`;
};

describe.each(bothPaths)("a body in many chunks, on %s", (_, fastPath) => {
  let gateway: TestGateway;
  useGateway({ listener: { fastPath } }, (started) => ({ gateway } = started), "all");
  const answerTo = (request: string) =>
    sendRaw(gateway.url, [Buffer.from(request, "latin1")], { expected: 1, quietMs: 1_000 });

  it.each([
    ["byte by byte if short", call.padEnd(4_000, " "), 1],
    ["in line-sized chunks, however many", `[${Array.from({ length: 900 }, () => call.padEnd(500)).join(",")}]`, 100],
  ])("is accepted %s", async (_name, body, chunkBytes) => {
    const whole = Math.floor(body.length / chunkBytes);
    const sizes = [...Array.from({ length: whole }, () => chunkBytes), body.length % chunkBytes].filter(Boolean);
    expect(await answerTo(chunked(sizes, body))).toContain('"result":"0x1"');
  });

  it("is rejected if a long body arrives byte by byte, and the connection is closed", async () => {
    const answer = await answerTo(
      chunked(
        Array.from({ length: 20_000 }, () => 1),
        call.padEnd(20_000, " "),
      ),
    );
    expect(answer).toMatch(/^HTTP\/1\.1 400 Bad Request\r\n/);
    expect(answer).toContain("send larger chunks");
    expect(answer).not.toContain("0x1");
  });
});
