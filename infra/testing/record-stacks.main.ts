import { writeFileSync } from "node:fs";
import { recordedStacks, recordingOf } from "./recorded-stacks.ts";
import { registrationsOf } from "./stack-registrations.ts";

for (const [stack, config] of Object.entries(recordedStacks)) {
  const registrations = (await registrationsOf(config)).map(({ registration }) => registration);
  writeFileSync(recordingOf(stack), `${JSON.stringify(registrations, null, 2)}\n`);
}
