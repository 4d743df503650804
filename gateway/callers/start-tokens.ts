import type { TokenDependencies, TokenOptions, Tokens } from "./tokens.ts";

/**
 * Starts the verification of callers' tokens if the settings specify a key set; otherwise jose is not even loaded.
 *
 * @throws {StartupError} when the key set's file can't be used.
 */
export async function startTokens(options: TokenOptions, dependencies: TokenDependencies): Promise<Tokens | undefined> {
  if (options.jwksUrl === undefined && options.jwksPath === undefined) return undefined;
  const { createTokens } = await import("./tokens.ts");
  return createTokens(options, dependencies);
}
