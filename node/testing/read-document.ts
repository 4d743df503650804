import { parseConfig, type ConfigDocument } from "../conf/document.ts";

/** Parses a valid node.conf. @throws {Error} with the problem of an invalid one. */
export function readDocument(text: string): ConfigDocument {
  const parsed = parseConfig(Buffer.from(text));
  if (!parsed.ok) throw new Error(parsed.problem.message);
  return parsed.document;
}
