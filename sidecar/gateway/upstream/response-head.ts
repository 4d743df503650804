/** What the head of the node's HTTP response says about its body. */
export type ResponseHead = Readonly<{
  status: number;
  /** Absent when the body is chunked or lasts to the connection's end. */
  lengthBytes: number | undefined;
  chunked: boolean;
  keepAlive: boolean;
}>;

/** Reads a response's status line and headers (without the empty line); undefined when they are no HTTP/1.1. */
export function readResponseHead(head: string): ResponseHead | undefined {
  const status = /^HTTP\/1\.([01]) (\d{3})(?: |$|\r)/.exec(head);
  if (status === null) return undefined;
  const length = /\r\ncontent-length:[ \t]*(\d{1,15})[ \t]*(?:\r|$)/i.exec(head)?.[1];
  const chunked = /\r\ntransfer-encoding:[ \t]*chunked[ \t]*(?:\r|$)/i.test(head);
  return {
    status: Number(status[2]),
    lengthBytes: length === undefined || chunked ? undefined : Number(length),
    chunked,
    keepAlive: status[1] === "1" && !/\r\nconnection:[ \t]*close/i.test(head),
  };
}
