import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { fileURLToPath } from "node:url";

/** Contracts without a constructor. */
const contractsWithoutConstructor = [
  "Permit2",
  "ExactProxy",
  "UptoProxy",
  "Multicall3",
  "WalletFactory",
  "BatchSettlement",
  "ERC3009Collector",
  "Permit2Collector",
] as const;

/** Code of the devnet's contracts, as stored in `contracts.artifact.json`. */
export type ContractsArtifact = Readonly<{
  compiler: string;
  /** Runtime code of contracts without a constructor. */
  code: Readonly<Record<(typeof contractsWithoutConstructor)[number], string>>;
  /** Code that creates the tokens. */
  creation: Readonly<Record<"Token" | "PlainToken", string>>;
}>;

type Compiler = Readonly<{
  version(): string;
  compile(input: string, callbacks: { import: (path: string) => { contents: string } | { error: string } }): string;
}>;

type CompiledContract = Readonly<{
  abi: readonly unknown[];
  evm: Readonly<Record<"bytecode" | "deployedBytecode", Readonly<{ object: string }>>>;
}>;

type CompilerOutput = Readonly<{
  errors?: readonly Readonly<{ severity: string; formattedMessage: string }>[];
  contracts?: Readonly<Record<string, Readonly<Record<string, CompiledContract>>>>;
}>;

const require = createRequire(import.meta.url);

export function readTokenSource(): string {
  return readSource("../token/Token.sol");
}

function readSource(path: string): string {
  return readFileSync(fileURLToPath(new URL(path, import.meta.url)), "utf8");
}

/**
 * Compiles `Token.sol`, or a test's `source` instead.
 *
 * @throws {Error} with the compiler's own messages; a warning counts as an error.
 */
export function compileToken(source: string = readTokenSource()) {
  const { abi, evm } = pickContract(compile({ "Token.sol": source }).contracts, "Token");
  return { abi, bytecode: `0x${evm.bytecode.object}` };
}

/**
 * Compiles the token and the contracts in this directory.
 *
 * @throws {Error} with the compiler's own messages; a warning counts as an error.
 */
export function compileContracts(): ContractsArtifact {
  const files = ["BatchSettlement.sol", "Multicall3.sol", "Permit2.sol", "PlainToken.sol", "Proxies.sol", "Wallet.sol"];
  const { compiler, contracts } = compile({
    "Token.sol": readTokenSource(),
    ...Object.fromEntries(files.map((file) => [file, readSource(`./${file}`)])),
  });
  const readCode = (name: string, kind: "bytecode" | "deployedBytecode" = "deployedBytecode") =>
    `0x${pickContract(contracts, name).evm[kind].object}`;
  return {
    compiler,
    code: Object.fromEntries(
      contractsWithoutConstructor.map((name) => [name, readCode(name)]),
    ) as ContractsArtifact["code"],
    creation: { Token: readCode("Token", "bytecode"), PlainToken: readCode("PlainToken", "bytecode") },
  };
}

type Contracts = Readonly<Record<string, CompiledContract>>;

function pickContract(contracts: Contracts, name: string): CompiledContract {
  const contract = contracts[name];
  if (contract === undefined) throw new Error(`the compiler returned no contract ${name}`);
  return contract;
}

/** Compiles with npm's `solc` and OpenZeppelin's contracts from `node_modules`. Deterministic: the same packages produce the same code. */
function compile(sources: Readonly<Record<string, string>>): Readonly<{ compiler: string; contracts: Contracts }> {
  const solc = require("solc") as Compiler;
  const input = {
    language: "Solidity",
    sources: Object.fromEntries(Object.entries(sources).map(([file, content]) => [file, { content }])),
    settings: {
      evmVersion: "cancun",
      optimizer: { enabled: true, runs: 10_000 },
      // No source hash in the bytecode, so that a changed comment does not change the contract.
      metadata: { bytecodeHash: "none", appendCBOR: false },
      outputSelection: { "*": { "*": ["abi", "evm.bytecode.object", "evm.deployedBytecode.object"] } },
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
  if (errors.length > 0) throw new Error(errors.map((error) => error.formattedMessage).join("\n"));
  const own = Object.keys(sources).map((file) => output.contracts?.[file] ?? {});
  return { compiler: `solc ${solc.version()}`, contracts: Object.assign({}, ...own) as Contracts };
}
