import { unescape } from "node:querystring";

/** A URL from the settings, split so that its credentials are sent but never shown. */
export type HttpEndpoint = Readonly<{
  /** The URL without credentials, so that no message can contain them. */
  url: string;
  headers: Readonly<Record<string, string>>;
}>;

/** Removes the credentials from a URL and converts them to Basic authentication (RFC 7617). */
export function parseHttpEndpoint(url: string): HttpEndpoint {
  const parsed = new URL(url);
  const { username, password } = parsed;
  if (username === "" && password === "") return { url, headers: {} };
  parsed.username = "";
  parsed.password = "";
  const credentials = Buffer.from(`${unescape(username)}:${unescape(password)}`, "utf8").toString("base64");
  return { url: parsed.href, headers: { Authorization: `Basic ${credentials}` } };
}
