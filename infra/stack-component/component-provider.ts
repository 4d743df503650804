import { InputPropertiesError, type ComponentResourceOptions, type Inputs } from "@pulumi/pulumi";
import type { ConstructResult, Provider } from "@pulumi/pulumi/provider/provider.js";
import { main } from "@pulumi/pulumi/provider/server.js";
import { version } from "#daemon/version.ts";
import { ConfigError } from "../config/config-problem.ts";
import { componentType, printPackageSchema } from "./package-schema.ts";
import { Stack } from "./stack.ts";
import type { StackInputs } from "./stack-inputs.ts";

/**
 * Serves the components to Pulumi's engine, for programs in any of its languages, until the process ends.
 *
 * The SDK's own `componentProviderHost` reads the schema out of TypeScript sources by the compiler at each start; the package has neither, and
 * the inputs' schema knows more than their types.
 *
 * @param args the engine's arguments, its address among them.
 */
export async function serveComponents(args: string[]): Promise<void> {
  const provider: Provider = { version, getSchema: async () => printPackageSchema(), construct: createComponent };
  await main(provider, args);
}

async function createComponent(
  name: string,
  type: string,
  inputs: Inputs,
  options: ComponentResourceOptions,
): Promise<ConstructResult> {
  if (type !== componentType) throw new Error(`there is no component ${type}; ${componentType} is one`);
  const stack = new Stack(name, inputs as StackInputs, options);
  try {
    await stack.deployed();
  } catch (error) {
    throw error instanceof ConfigError ? toPropertiesError(error) : error;
  }
  const { urn, urls, status, tryThis, signer, configuration, grafana, notReady } = stack;
  return { urn, state: { urls, status, tryThis, signer, configuration, grafana, notReady } };
}

/** Puts each problem at its input, as the engine shows it in the language of the program. */
function toPropertiesError({ summary, problems }: ConfigError): InputPropertiesError {
  const errors = problems.map(({ key, message: reason }) => ({ propertyPath: key, reason }));
  return new InputPropertiesError({ message: summary, errors });
}
