import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";

export type SentSpan = Readonly<{
  traceId: string;
  spanId: string;
  parentSpanId?: string;
  name: string;
  kind: number;
  status: { code?: number };
  attributes: readonly { key: string; value: Record<string, unknown> }[];
}>;
type Sent = Readonly<{ resourceSpans: readonly { scopeSpans: readonly { spans: readonly SentSpan[] }[] }[] }>;

/** Receives spans by OTLP over HTTP, like a collector, and responds once `mayAnswer` says so. */
export async function startCollector(mayAnswer: Promise<unknown> = Promise.resolve()) {
  const texts: string[] = [];
  const authorizations: (string | undefined)[] = [];
  const collector = createServer((request, response) => {
    const parts: Buffer[] = [];
    request.on("data", (part: Buffer) => parts.push(part));
    request.on("end", async () => {
      texts.push(Buffer.concat(parts).toString("utf8"));
      authorizations.push(request.headers.authorization);
      await mayAnswer;
      response.writeHead(200, { "Content-Type": "application/json" }).end("{}");
    });
  });
  collector.listen(0, "127.0.0.1");
  await once(collector, "listening");
  const spans = () =>
    texts.flatMap((text) =>
      (JSON.parse(text) as Sent).resourceSpans.flatMap(({ scopeSpans }) => scopeSpans.flatMap((scope) => scope.spans)),
    );
  return {
    url: `http://127.0.0.1:${(collector.address() as AddressInfo).port}/v1/traces`,
    texts,
    authorizations,
    spans,
    [Symbol.asyncDispose]: async () => {
      collector.closeAllConnections();
      collector.close();
      await once(collector, "close");
    },
  };
}
