import { TextsByLength } from "../wire/texts-by-length.ts";

/** HTTP address of the node, and the constant parts of every request to it: its head, as binary strings, up to the end of the Content-Length line. */
export type NodeAddress = Readonly<{ secure: boolean; host: string; port: number; requestStarts: TextsByLength }>;

/** Parses the address in a URL and builds the head for every request to it. */
export function parseNodeAddress(httpUrl: string): NodeAddress {
  const url = new URL(httpUrl);
  const credentials = `${decodeURIComponent(url.username)}:${decodeURIComponent(url.password)}`;
  const authorization =
    url.username === "" ? "" : `Authorization: Basic ${Buffer.from(credentials).toString("base64")}\r\n`;
  const start = `POST ${url.pathname}${url.search} HTTP/1.1\r\nHost: ${url.host}\r\n${authorization}Content-Type: application/json\r\nContent-Length: `;
  const secure = url.protocol === "https:";
  return {
    secure,
    host: url.hostname.replace(/^\[|\]$/g, ""),
    port: Number(url.port === "" ? (secure ? 443 : 80) : url.port),
    requestStarts: new TextsByLength((lengthBytes) => `${start}${lengthBytes}\r\n`),
  };
}
