import type { Engine } from "./engine.ts";
import type { PulumiCli } from "../pulumi/pulumi-cli.ts";
import { PulumiError } from "../pulumi/pulumi-process.ts";
import { formatClearCommand, type CommandLocation } from "../stack-commands.ts";

/**
 * Explains how to clear Pulumi's warning about creations that were pending when an update of this upgrade was killed. Pulumi can't know
 * their outcome, so it keeps them until an operator checks. Covers only creations with a known outcome: containers with these names that
 * the engine has under the id in Pulumi's state. Doesn't clear them itself, because Pulumi's only command for that clears all pending
 * creations.
 *
 * @param names containers that an upgrade creates.
 * @returns undefined if no creation of the upgrade is pending.
 */
export async function describePendingCreations(
  { names, ...place }: CommandLocation & Readonly<{ names: readonly string[] }>,
  { pulumi, engine }: Readonly<{ pulumi: Pick<PulumiCli, "readState">; engine: Pick<Engine, "inspect"> }>,
): Promise<string | undefined> {
  let state;
  try {
    state = await pulumi.readState();
  } catch (error) {
    if (!(error instanceof PulumiError)) throw error;
    return `Whether Pulumi still warns of pending operations is not known (${error.message})`;
  }
  const { containers, pendingCreations } = state;
  const settled: string[] = [];
  for (const urn of new Set(pendingCreations)) {
    const name = parseName(urn);
    const known = containers.get(urn);
    if (!names.includes(name) || known === undefined) continue;
    if ((await engine.inspect(name))?.Id === known) settled.push(urn);
  }
  if (settled.length === 0) return undefined;
  const others = pendingCreations.filter((urn) => !settled.includes(urn)).map(parseName);
  const look =
    others.length === 0 ? "" : ` It clears the pending creations of ${others.join(", ")}, too: look at them first.`;
  return `A pulumi up was killed while it made ${settled.map(parseName).join(", ")}, which is there and known to Pulumi. Pulumi goes on to warn of a pending operation until you say: ${formatClearCommand(place, settled)}${look}`;
}

function parseName(urn: string): string {
  return urn.split("::").at(-1) ?? urn;
}
