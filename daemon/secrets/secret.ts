import { inspect } from "node:util";
import type { z } from "zod";

/**
 * A value that no log line, JSON document or debugger may show. Only {@link Secret.reveal} returns it, so that a search for that name finds
 * every use of a key.
 */
export class Secret {
  readonly #value: string;

  constructor(value: string) {
    this.#value = value;
  }

  reveal(): string {
    return this.#value;
  }

  toString(): string {
    return "[secret]";
  }

  toJSON(): string {
    return "[secret]";
  }

  [inspect.custom](): string {
    return "[secret]";
  }
}

/**
 * Converts a string schema to the schema of a secret setting: read from the environment or from the file specified by `<NAME>_FILE`,
 * validated by `schema`, returned as a {@link Secret}.
 *
 * @example
 * signer: section({ privateKey: secret(privateKey).describe("Key that pays for settlement") })
 */
export function secret<Schema extends z.ZodType<string, string>>(schema: Schema) {
  return schema.transform((value) => new Secret(value)).meta({ secret: true });
}
