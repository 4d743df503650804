import { unescape } from "node:querystring";

/** A URL of the settings, taken apart so that its credentials are sent, and never shown. */
export type HttpEndpoint = Readonly<{
  /** Without credentials, so that no message about it can hold them. */
  url: string;
  /** `Authorization`, when the URL had credentials. */
  headers: Readonly<Record<string, string>>;
}>;

/** Takes the credentials out of a URL; they become Basic authentication (RFC 7617). */
export function parseHttpEndpoint(url: string): HttpEndpoint {
  const parsed = new URL(url);
  const { username, password } = parsed;
  if (username === "" && password === "") return { url, headers: {} };
  parsed.username = "";
  parsed.password = "";
  const credentials = Buffer.from(`${unescape(username)}:${unescape(password)}`, "utf8").toString("base64");
  return { url: parsed.href, headers: { Authorization: `Basic ${credentials}` } };
}
