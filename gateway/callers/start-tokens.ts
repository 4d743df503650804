import type { TokenDependencies, TokenOptions, Tokens } from "./tokens.ts";

/**
 * Starts verifying callers' tokens if the settings specify a key set; otherwise jose is not even loaded.
 *
 * @throws {StartupError} when the key set file can't be used.
 */
export async function startTokens(options: TokenOptions, dependencies: TokenDependencies): Promise<Tokens | undefined> {
  if (options.jwksUrl === undefined && options.jwksPath === undefined) return undefined;
  const { createTokens } = await import("./tokens.ts");
  return createTokens(options, dependencies);
}
