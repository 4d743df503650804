import { readFileSync } from "node:fs";
import { basename, join } from "node:path";
import { parse } from "yaml";
import { z } from "zod";

/** The template repository that a user copies. */
export const template = join(import.meta.dirname, "../../examples/gitops");

const step = z.looseObject({
  run: z.string().optional(),
  uses: z.string().optional(),
  env: z.record(z.string(), z.string()).default({}),
});
const job = z.looseObject({
  "runs-on": z.string(),
  "timeout-minutes": z.number().optional(),
  permissions: z.record(z.string(), z.string()).optional(),
  environment: z.string().optional(),
  concurrency: z.looseObject({ group: z.string(), "cancel-in-progress": z.boolean() }).optional(),
  needs: z.string().optional(),
  env: z.record(z.string(), z.string()).default({}),
  steps: z.array(step),
});
const workflowSchema = z.looseObject({ permissions: z.unknown(), jobs: z.record(z.string(), job) });

/** A job of a GitHub Actions workflow, with the parts that the tests use. */
export type WorkflowJob = z.output<typeof job>;

/** The template's workflows, each with its text. */
export const workflows = ["pull-request", "deploy", "drift"].map((name) => {
  const path = join(template, ".github/workflows", `${name}.yml`);
  const text = readFileSync(path, "utf8");
  return { ...workflowSchema.parse(parse(text)), name: basename(path), text };
});

/** Every job of every workflow. */
export const jobs = workflows.flatMap((workflow) =>
  Object.entries(workflow.jobs).map(([name, found]) => ({ workflow: workflow.name, name, job: found })),
);

/** Finds the job with this name. @throws {Error} if there is none. */
export function findJob(workflow: string, name: string): WorkflowJob {
  const found = jobs.find((entry) => entry.workflow === workflow && entry.name === name);
  if (found === undefined) throw new Error(`no job ${name} in ${workflow}`);
  return found.job;
}
