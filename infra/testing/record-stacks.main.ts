import { writeFileSync } from "node:fs";
import { recordedStacks, locateRecording } from "./recorded-stacks.ts";
import { listRegistrations } from "./stack-registrations.ts";

for (const [stack, config] of Object.entries(recordedStacks)) {
  const registrations = (await listRegistrations(config)).map(({ registration }) => registration);
  writeFileSync(locateRecording(stack), `${JSON.stringify(registrations, null, 2)}\n`);
}
