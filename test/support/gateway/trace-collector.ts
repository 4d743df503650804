import { createServer } from "node:http";
import { listenLocally } from "#daemon/testing/local-server.ts";

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

/** Receives spans through OTLP over HTTP, like a collector, and responds once `mayAnswer` allows it. */
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
  const local = await listenLocally(collector);
  const spans = () =>
    texts.flatMap((text) =>
      (JSON.parse(text) as Sent).resourceSpans.flatMap(({ scopeSpans }) => scopeSpans.flatMap((scope) => scope.spans)),
    );
  return {
    url: `${local.url}/v1/traces`,
    texts,
    authorizations,
    spans,
    [Symbol.asyncDispose]: local[Symbol.asyncDispose],
  };
}
