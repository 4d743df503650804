/**
 * Runs the benchmark's sections, or the one that the first argument names; further arguments choose its parts, e.g.
 * `npm run bench -- upkeep kills`.
 */
const sections: Readonly<Record<string, (parts: readonly string[]) => Promise<void>>> = {
  stack: async () => (await import("./stack.ts")).measureStack(),
  upkeep: async (parts) => (await import("./upkeep/upkeep.ts")).measureUpkeep(parts),
  facilitator: async () => void (await import("./facilitator.ts")),
  infra: async () => void (await import("./infra.ts")),
  deployment: async () => void (await import("./deployment.ts")),
};

const [chosen, ...parts] = process.argv.slice(2);
if (chosen !== undefined && sections[chosen] === undefined) {
  process.stderr.write(`bench: there is no section "${chosen}"; there are ${Object.keys(sections).join(", ")}.\n`);
  process.exit(1);
}
for (const [name, run] of Object.entries(sections)) {
  if (chosen === undefined || chosen === name) await run(parts);
}
