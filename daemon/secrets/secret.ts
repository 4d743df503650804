import { inspect } from "node:util";
import type { z } from "zod";

/**
 * A value that no log line, JSON document or debugger print may show. Only {@link Secret.reveal} gives it out, so that every
 * place where a key is used can be found by that name.
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
 * Turns a string schema into the schema of a secret setting: read from the environment or from the file that
 * `<NAME>_FILE` names, checked by `schema`, handed on as a {@link Secret}.
 *
 * @example
 * signer: section({ privateKey: secret(privateKey).describe("Key that pays for settlement") })
 */
export function secret<Schema extends z.ZodType<string, string>>(schema: Schema) {
  return schema.transform((value) => new Secret(value)).meta({ secret: true });
}
