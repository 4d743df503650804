import { recordStack } from "#infra/testing/deployed-stack.ts";

/**
 * One run of the Pulumi program against mocks, from the start of Node to the last resource: what `pulumi up` waits for
 * besides the CLI.
 */
const config = JSON.parse(process.argv[2] ?? "{}") as Readonly<Record<string, string>>;
const recorded = await recordStack(config, { preview: true });
const { user, system } = process.cpuUsage();
process.stdout.write(`${recorded.length} ${Math.round((user + system) / 1_000)}\n`);
