import { Cron } from "croner";
import { z } from "zod";

const cronExample = "a cron expression such as 0 3 * * *";

/** A cron expression with at least one future time. */
export const cronExpression = z
  .string()
  .superRefine((text, context) => {
    const problem = findCronProblem(text);
    if (problem !== undefined) context.addIssue({ code: "custom", message: `${problem}; expected ${cronExample}` });
  })
  .meta({ expected: cronExample });

/** A time zone name in the IANA database. */
export const timeZone = z
  .string()
  .min(1)
  .refine(isTimeZone)
  .meta({ expected: "a time zone such as UTC or Europe/Berlin" });

function findCronProblem(text: string): string | undefined {
  try {
    const next = new Cron(text, { paused: true, timezone: "UTC" }).nextRun();
    return next === null ? "it never matches a future time" : undefined;
  } catch (error) {
    return (error as Error).message.replace(/^[A-Za-z]+: /, "");
  }
}

function isTimeZone(name: string): boolean {
  try {
    return Intl.DateTimeFormat("en", { timeZone: name }).resolvedOptions().timeZone !== "";
  } catch {
    return false;
  }
}
