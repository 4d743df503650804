import { headAgeHeader, sourceHeader, type AnswerHeaders } from "./answer-head.ts";

/** Headers for a browser's page of an origin; undefined when pages of it may not call (WHATWG Fetch, CORS protocol). */
export function corsHeaders(allowedOrigins: readonly string[]): (origin: string) => AnswerHeaders | undefined {
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
