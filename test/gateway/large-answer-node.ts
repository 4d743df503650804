import { createServer, type ServerResponse } from "node:http";
import { listenLocally } from "#daemon/testing/local-server.ts";

/** A node that responds to storage reads with as many bytes as a test specifies, at little cost. */
export type LargeResponseNode = AsyncDisposable & Readonly<{ httpUrl: string; setAnswer: (bytes: number) => void }>;

type Request = Readonly<{ id: unknown; method: string }>;

const block = { number: "0x3e8", hash: `0x${"1".repeat(64)}`, parentHash: `0x${"0".repeat(64)}` };
const results: Readonly<Record<string, unknown>> = {
  eth_getBlockByNumber: block,
  eth_blockNumber: block.number,
  eth_chainId: "0x1",
  eth_syncing: false,
};

export async function startLargeResponseNode(): Promise<LargeResponseNode> {
  let filler = Buffer.alloc(0);
  const partsOf = ({ id, method }: Request): Buffer[] => {
    const start = `{"jsonrpc":"2.0","id":${JSON.stringify(id)},"result":`;
    if (method === "eth_getStorageAt") return [Buffer.from(`${start}"`), filler, Buffer.from('"}')];
    return [Buffer.from(`${start}${JSON.stringify(results[method] ?? "0x1")}}`)];
  };
  const answer = (response: ServerResponse, given: Request | readonly Request[]) => {
    const parts =
      "method" in given
        ? partsOf(given)
        : given.flatMap((one, at) => [Buffer.from(at === 0 ? "[" : ","), ...partsOf(one)]).concat(Buffer.from("]"));
    const lengthBytes = parts.reduce((sum, { length }) => sum + length, 0);
    response.writeHead(200, { "Content-Type": "application/json", "Content-Length": lengthBytes });
    for (const part of parts) response.write(part);
    response.end();
  };
  const server = createServer((request, response) => {
    // This node has no WebSocket.
    if (request.method !== "POST") {
      response.writeHead(404).end();
      return;
    }
    const body: Buffer[] = [];
    request.on("data", (part: Buffer) => body.push(part));
    request.on("end", () => answer(response, JSON.parse(Buffer.concat(body).toString()) as Request));
  });
  const local = await listenLocally(server);
  return {
    httpUrl: local.url,
    setAnswer: (bytes) => {
      filler = Buffer.alloc(bytes, "z");
    },
    [Symbol.asyncDispose]: local[Symbol.asyncDispose],
  };
}
