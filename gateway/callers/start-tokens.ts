import type { TokenDependencies, TokenOptions, Tokens } from "./tokens.ts";

/**
 * Starts to verify callers' tokens when settings name a key set; else jose is not even loaded.
 *
 * @throws {StartupError} when the key set's file can't be used.
 */
export async function startTokens(options: TokenOptions, dependencies: TokenDependencies): Promise<Tokens | undefined> {
  if (options.jwksUrl === undefined && options.jwksPath === undefined) return undefined;
  const { createTokens } = await import("./tokens.ts");
  return createTokens(options, dependencies);
}
