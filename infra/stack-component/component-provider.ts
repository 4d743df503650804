import { InputPropertiesError, type ComponentResourceOptions, type Inputs } from "@pulumi/pulumi";
import type { ConstructResult, Provider } from "@pulumi/pulumi/provider/provider.js";
import { main } from "@pulumi/pulumi/provider/server.js";
import { version } from "#daemon/version.ts";
import { ConfigError } from "../config/config-problem.ts";
import { componentType, printPackageSchema } from "./package-schema.ts";
import { Stack } from "./stack.ts";
import type { StackInputs } from "./stack-inputs.ts";

/**
 * Serves the components to Pulumi's engine, for programs in any of its languages, until the process exits.
 *
 * The SDK's own `componentProviderHost` runs the compiler at each start to derive the schema from TypeScript sources. The package includes
 * neither the compiler nor the sources, and the schema of the inputs is more precise than their types.
 *
 * @param args the engine's arguments, including its address.
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
  if (type !== componentType) throw new Error(`unknown component ${type}; expected ${componentType}`);
  const stack = new Stack(name, inputs as StackInputs, options);
  try {
    await stack.deployed();
  } catch (error) {
    throw error instanceof ConfigError ? toPropertiesError(error) : error;
  }
  const { urn, urls, status, tryThis, signer, configuration, grafana, notReady } = stack;
  return { urn, state: { urls, status, tryThis, signer, configuration, grafana, notReady } };
}

/** Maps each problem to its input, so that the engine shows it in the program's language. */
function toPropertiesError({ summary, problems }: ConfigError): InputPropertiesError {
  const errors = problems.map(({ key, message: reason }) => ({ propertyPath: key, reason }));
  return new InputPropertiesError({ message: summary, errors });
}
