import { parseConfig, type ConfigDocument } from "../conf/document.ts";

/** Parses a valid node.conf. @throws {Error} that describes the problem if the node.conf is invalid. */
export function readDocument(text: string): ConfigDocument {
  const parsed = parseConfig(Buffer.from(text));
  if (!parsed.ok) throw new Error(parsed.problem.message);
  return parsed.document;
}
