import type { Command } from "commander";

/** Examples of each command, by command name; shown in its help and in docs/command-line.md. */
export const commandExamples: Readonly<Record<string, readonly string[]>> = {
  stack: ["gatehouse stack --once", "gatehouse stack --observe"],
  sidecar: ["gatehouse sidecar --settings sidecar.json5"],
  gateway: ["gatehouse gateway --settings gateway.json5"],
  facilitator: ["gatehouse facilitator --settings facilitator.json5"],
  "resource-server": ["gatehouse resource-server --settings resource-server.json5"],
  status: [
    "gatehouse status --url http://127.0.0.1:9600 --watch 5",
    "gatehouse status --targets node-7=http://10.0.0.7:9600 http://10.0.0.8:9600 --watch",
    "gatehouse status --targets node-7=http://10.0.0.7:9600 http://10.0.0.8:9600 --page",
  ],
  pay: [
    "gatehouse pay https://shop.example/data --rpc-url https://rpc.example",
    "gatehouse pay https://shop.example/data --max-amount 0.05 --asset 0x… --key-file key",
  ],
  "ledger export": [
    "gatehouse ledger export --settings facilitator.json5 --from 2026-11-01 --to 2026-12-01 > november.csv",
  ],
  "ledger refund": [
    "gatehouse ledger refund 'eip155:1672|0x…|0x…|0x…' --settings facilitator.json5 --key-file payee.key",
  ],
  "config plan": ["gatehouse config plan --config bin/node.conf --node-version 0.16.2"],
  "config lint": ["gatehouse config lint bin/node.conf --node-version 0.16.2"],
  doctor: [
    "gatehouse doctor --url sidecar=http://127.0.0.1:9600",
    "pulumi stack output --json | gatehouse doctor --drift",
  ],
  adopt: ["gatehouse adopt"],
  resume: ["gatehouse resume"],
  restart: ["gatehouse restart --state-directory /data/node/.gatehouse"],
  upgrade: [
    "gatehouse upgrade /data/releases/0.16.2 --dry-run",
    "gatehouse upgrade /data/releases/0.16.2 --token-file token --url http://10.0.0.7:9600",
    "gatehouse upgrade --stack prod --node-image registry.example/node:0.16.2@sha256:… --dry-run",
  ],
  restore: ["gatehouse restore --settings restore.json5"],
  "contracts check": ["gatehouse contracts check --rpc-url https://rpc.example --for upto"],
  "contracts deploy": [
    "gatehouse contracts deploy --rpc-url https://rpc.example --key-file key --copy-from https://archive.example",
  ],
  "config dump": ["gatehouse config dump sidecar --changed"],
};

export function addExamples(program: Command): void {
  for (const { name, command } of listCommands(program)) {
    const examples = commandExamples[name] ?? [];
    if (examples.length === 1) command.addHelpText("after", `\nExample: ${examples[0]}`);
    else command.addHelpText("after", ["\nExamples:", ...examples].join("\n  "));
  }
}

type NamedCommand = Readonly<{ name: string; command: Command }>;

/** Lists the executable commands in `--help` order, without command groups and hidden commands. */
export function listCommands(program: Command, before = ""): readonly NamedCommand[] {
  const shown = program.createHelp().visibleCommands(program);
  const own = program.commands.filter((command) => shown.includes(command));
  return own.flatMap((command) => {
    const name = `${before}${command.name()}`;
    return command.commands.length === 0 ? [{ name, command }] : listCommands(command, `${name} `);
  });
}
