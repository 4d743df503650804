import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { fileURLToPath } from "node:url";

/** Compiler settings; part of the artifact, because other settings produce other bytecode. */
const settings = {
  evmVersion: "cancun",
  optimizer: { enabled: true, runs: 10_000 },
  // No source hash in the bytecode, so that a changed comment does not change the contract.
  metadata: { bytecodeHash: "none", appendCBOR: false },
} as const;

/** A compiled contract, as stored in `token.artifact.json`. */
export type TokenArtifact = Readonly<{
  contract: string;
  compiler: string;
  settings: typeof settings;
  abi: readonly unknown[];
  bytecode: string;
  deployedBytecode: string;
}>;

type Compiler = Readonly<{
  version(): string;
  compile(input: string, callbacks: { import: (path: string) => { contents: string } | { error: string } }): string;
}>;

type CompilerOutput = Readonly<{
  errors?: readonly Readonly<{ severity: string; formattedMessage: string }>[];
  contracts?: Readonly<
    Record<
      string,
      Record<
        string,
        Readonly<{
          abi: readonly unknown[];
          evm: Readonly<Record<"bytecode" | "deployedBytecode", Readonly<{ object: string }>>>;
        }>
      >
    >
  >;
}>;

/** Reads `Token.sol`. */
export function readTokenSource(): string {
  return readFileSync(fileURLToPath(new URL("./Token.sol", import.meta.url)), "utf8");
}

/**
 * Compiles `Token.sol` with npm's `solc` and OpenZeppelin's contracts from `node_modules`. Deterministic: the same packages produce the
 * same artifact. Tests pass their own `source`.
 *
 * @throws {Error} with the compiler's own messages; a warning counts as an error.
 */
export function compileToken(source: string = readTokenSource()): TokenArtifact {
  const require = createRequire(import.meta.url);
  const solc = require("solc") as Compiler;
  const input = {
    language: "Solidity",
    sources: { "Token.sol": { content: source } },
    settings: {
      ...settings,
      outputSelection: { "Token.sol": { Token: ["abi", "evm.bytecode.object", "evm.deployedBytecode.object"] } },
    },
  };
  const readImport = (path: string) => {
    try {
      return { contents: readFileSync(require.resolve(path), "utf8") };
    } catch (cause) {
      return { error: String(cause) };
    }
  };
  const output = JSON.parse(solc.compile(JSON.stringify(input), { import: readImport })) as CompilerOutput;
  const errors = output.errors ?? [];
  const token = output.contracts?.["Token.sol"]?.["Token"];
  if (errors.length > 0 || token === undefined) {
    throw new Error(errors.map((error) => error.formattedMessage).join("\n"));
  }
  return {
    contract: "Token",
    compiler: `solc ${solc.version()}`,
    settings,
    abi: token.abi,
    bytecode: `0x${token.evm.bytecode.object}`,
    deployedBytecode: `0x${token.evm.deployedBytecode.object}`,
  };
}
