import { Command, Option } from "@commander-js/extra-typings";
import type { Hex } from "viem";
import type { z } from "zod";
import { explainUnreadable, readNamedText } from "#daemon/files/regular-file.ts";
import { Secret } from "#daemon/secrets/secret.ts";
import type { Mask } from "#daemon/secrets/mask.ts";
import { canonicalContracts, contractUses, listContracts, type ContractUse } from "#x402/contracts.ts";
import { createTerminalOutput, findConfirmation } from "../terminal.ts";
import { parseHttpUrl } from "./option-values.ts";

const uses = Object.keys(contractUses) as ContractUse[];

/** Creates `gatehouse contracts`, which covers the contracts that payment kinds call. */
export function createContractsCommand({ mask }: Readonly<{ mask: Mask }>) {
  const check = addChainOptions(new Command("check"))
    .summary("Show which of the contracts required by payments a chain has")
    .description("Prints each contract and whether the chain has it. Exits 0 if none is missing, else 1.")
    .action(async ({ rpcUrl, for: use }) => {
      mask.hide(rpcUrl);
      const { runContractsCheck: run } = await import("#facilitator/contracts/contracts-command.ts");
      process.exitCode = await run({ rpcUrl, contracts: selectContracts(use) }, createTerminalOutput({ mask }));
    });
  return new Command("contracts")
    .summary("Check and deploy the contracts that payments need")
    .addCommand(check)
    .addCommand(createDeployCommand(mask));
}

const collect = (value: string, before: readonly string[]) => [...before, value];

function createDeployCommand(mask: Mask) {
  return addChainOptions(new Command("deploy"))
    .summary("Deploy the missing contracts at their canonical addresses")
    .description(
      "Shows the planned transactions and their max cost, and asks for confirmation. Gatehouse doesn't contain the code of these contracts: the code comes from files or from another chain, and is sent only if it results in the canonical address. After an interruption, run it again. Exits 0 if none is missing, else 1.",
    )
    .requiredOption("--key-file <path>", "file with the private key of the paying account")
    .option(
      "--init-code <file>",
      "hexadecimal init code (with the constructor's arguments, perhaps after its salt) or presigned transaction; repeat for more",
      collect,
      [],
    )
    .option("--copy-from <url>", "archive node of a chain that has the contracts; repeat for more", collectUrl, [])
    .option("--yes", "don't ask for confirmation", false)
    .action(async ({ rpcUrl, for: use, keyFile, initCode, copyFrom, yes }, command) => {
      for (const url of [rpcUrl, ...copyFrom]) mask.hide(url);
      const { hexBytes, privateKey } = await import("#daemon/settings/types.ts");
      const read = (option: string, file: string, schema: z.ZodType<string>) => {
        const problem = (why: string) => command.error(`contracts deploy: ${option} ${file}: ${why}`);
        return readHexFile(file, schema, problem);
      };
      const key = read("--key-file", keyFile, privateKey);
      mask.hide(new Secret(key));
      const initCodes = initCode.map((file) => read("--init-code", file, hexBytes));
      const { runContractsDeploy: run } = await import("#facilitator/contracts/contracts-command.ts");
      const { create2Deployer } = canonicalContracts;
      const contracts = [create2Deployer, ...selectContracts(use).filter((contract) => contract !== create2Deployer)];
      process.exitCode = await run(
        { rpcUrl, contracts, privateKey: key, initCodes, copyFrom, yes, confirm: findConfirmation() },
        createTerminalOutput({ mask }),
      );
    });
}

const collectUrl = (value: string, before: readonly string[]) => [...before, parseHttpUrl(value)];

/** Max size in bytes of a key or code file; no chain accepts longer init code (EIP-3860: 49,152 bytes). */
const fileBytes = 200_000;

function readHexFile(file: string, schema: z.ZodType<string>, fail: (why: string) => never): Hex {
  let text: string;
  try {
    text = readNamedText(file, fileBytes).trim();
  } catch (error) {
    return fail(`it can't be read (${explainUnreadable(error)})`);
  }
  const { data } = schema.safeParse(text);
  return (data as Hex | undefined) ?? fail(`expected ${schema.meta()?.["expected"]}`);
}

function addChainOptions(command: Command) {
  return command
    .addOption(
      new Option("--rpc-url <url>", "JSON-RPC endpoint of the chain").argParser(parseHttpUrl).makeOptionMandatory(),
    )
    .addOption(new Option("--for <use>", "only the contracts of this use; default: all").choices(uses));
}

function selectContracts(use: ContractUse | undefined) {
  return listContracts(use).map((id) => canonicalContracts[id]);
}
