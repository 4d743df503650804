import type { Load } from "./load.ts";

export type Operation = Readonly<{ path: "/verify" | "/settle"; field: "isValid" | "success"; good: boolean }>;

/** Formats the requests that post the bodies, and the required content of their responses. */
export function postBodies(
  { url }: Readonly<{ url: string }>,
  bodies: readonly string[],
  { path, field, good }: Operation,
): Pick<Load, "requests" | "isExpected"> {
  const head = `POST ${path} HTTP/1.1\r\nHost: ${new URL(url).host}\r\nContent-Type: application/json\r\n`;
  const expected = `"${field}":${good}`;
  return {
    requests: bodies.map((body) => `${head}Content-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`),
    isExpected: (response) => response.includes(expected),
  };
}
