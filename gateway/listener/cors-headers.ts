import { headAgeHeader, sourceHeader, type ResponseHeaders } from "./response-headers.ts";

/**
 * Creates the function that builds the headers for a browser page of an origin. The function returns undefined if the origin is not allowed
 * (WHATWG Fetch, CORS protocol).
 */
export function createCorsHeaders(allowedOrigins: readonly string[]): (origin: string) => ResponseHeaders | undefined {
  return (origin) => {
    if (!allowedOrigins.includes("*") && !allowedOrigins.includes(origin)) return undefined;
    return [
      ["Access-Control-Allow-Origin", allowedOrigins.includes("*") ? "*" : origin],
      ["Access-Control-Allow-Methods", "POST, OPTIONS"],
      ["Access-Control-Allow-Headers", "Authorization, Content-Type"],
      ["Access-Control-Expose-Headers", `Retry-After, ${sourceHeader}, ${headAgeHeader}`],
      ["Access-Control-Max-Age", "600"],
      ["Vary", "Origin"],
    ];
  };
}
