import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, readFileSync } from "node:fs";
import { explainUnreadable } from "#daemon/files/regular-file.ts";
import { decodeUtf8 } from "#daemon/files/utf8.ts";
import { join } from "node:path";
import { createInterface } from "node:readline/promises";
import { ConfigError, findRootKey, type ConfigProblem } from "../config/config-problem.ts";
import { readConfig } from "../stack-config.ts";
import { addDevnetDefaults, stackQuestions, type Answers, type StackQuestion } from "./stack-questions.ts";

type Output = Readonly<{ out: (text: string) => void; error: (text: string) => void }>;
type Ask = (question: string) => Promise<string>;

/**
 * Prompts for the configuration of a new stack, validates it as `pulumi preview` would, and prompts again for invalid values. Then makes
 * Pulumi write `Pulumi.<name>.yaml`, with secrets encrypted. Returns the exit status: 0 once the file is written, otherwise 1 with the
 * reason. Nothing is written until every value is valid.
 */
export async function initStack(name: string, directory: string, output: Output): Promise<number> {
  if (!existsSync(join(directory, "Pulumi.yaml"))) {
    output.error(`init-stack: ${directory} has no Pulumi.yaml; run this in a clone of Gatehouse.\n`);
    return 1;
  }
  const terminal = createInterface({ input: process.stdin, output: process.stdout });
  // Buffers lines that arrive before their prompt; end of input ends the command.
  const lines = terminal[Symbol.asyncIterator]();
  const ask = async (question: string) => {
    output.out(question);
    const { done, value } = await lines.next();
    if (done === true) throw new InputEndedError();
    return value.trim();
  };
  try {
    // A missing Pulumi is reported before the questions.
    await runPulumi(directory, ["version"]);
    const answers = await askUntilValid(ask, output);
    await runPulumi(directory, ["stack", "init", name]);
    for (const [key, value] of Object.entries(answers)) {
      const secret = stackQuestions.some((question) => question.key === key && question.isSecretFile === true);
      // Passes the value on standard input: other users of the machine can read command lines.
      await runPulumi(directory, ["config", "set", "--stack", name, secret ? "--secret" : "--plaintext", key], value);
    }
    output.out(`Wrote Pulumi.${name}.yaml. Deploy it: pulumi up --stack ${name} --policy-pack policies\n`);
    return 0;
  } catch (error) {
    if (!(error instanceof InputEndedError || error instanceof PulumiFailedError)) throw error;
    output.error(`init-stack: ${error.message}\n`);
    return 1;
  } finally {
    terminal.close();
  }
}

class InputEndedError extends Error {
  override readonly name = "InputEndedError";
  override readonly message = "the input ended before all questions were answered; nothing was written.";
}

class PulumiFailedError extends Error {
  override readonly name = "PulumiFailedError";
}

async function askUntilValid(ask: Ask, output: Output): Promise<Answers> {
  let answers = await askAll(stackQuestions, {}, ask, output);
  for (;;) {
    const problems = findProblems(addDevnetDefaults(answers));
    if (problems.length === 0) return addDevnetDefaults(answers);
    output.error(`${problems.map(({ key, message }) => `${key}: ${message}`).join("\n")}\n`);
    const wrong = new Set(problems.map(({ key }) => findRootKey(key)));
    const again = stackQuestions.filter(({ key }) => wrong.has(key));
    // The values of keys without a prompt follow from the target and the node.
    answers = await askAll(again.length === 0 ? stackQuestions : again, answers, ask, output);
  }
}

async function askAll(
  questions: readonly StackQuestion[],
  before: Answers,
  ask: Ask,
  output: Output,
): Promise<Answers> {
  const answers = { ...before };
  for (const question of questions) {
    if (question.when?.(answers) === false) continue;
    const value = await askOne(question, ask, output);
    if (value === undefined) delete answers[question.key];
    else answers[question.key] = value;
  }
  return answers;
}

async function askOne(
  { ask: words, fallback, isSecretFile }: StackQuestion,
  ask: Ask,
  output: Output,
): Promise<string | undefined> {
  for (;;) {
    const typed = (await ask(`${words}${fallback === undefined ? "" : ` [${fallback}]`}: `)) || fallback;
    if (typed === undefined || isSecretFile !== true) return typed;
    try {
      return decodeUtf8(readFileSync(typed)).trim();
    } catch (error) {
      output.error(`${typed} can't be read (${explainUnreadable(error)}).\n`);
    }
  }
}

function findProblems(answers: Answers): readonly ConfigProblem[] {
  try {
    return readConfig(answers).problems;
  } catch (error) {
    if (error instanceof ConfigError) return error.problems;
    throw error;
  }
}

/** Runs Pulumi and sends its messages to this terminal's standard error. */
async function runPulumi(directory: string, args: readonly string[], input = ""): Promise<void> {
  const child = spawn("pulumi", [...args, "--non-interactive"], {
    cwd: directory,
    stdio: ["pipe", "ignore", "inherit"],
  });
  const ended = once(child, "close") as Promise<[number | null]>;
  // If Pulumi has exited, its exit status reports the failure.
  child.stdin.on("error", () => {});
  child.stdin.end(input);
  const [status] = await ended.catch((error: NodeJS.ErrnoException): [string] => [error.code ?? error.message]);
  if (status === "ENOENT")
    throw new PulumiFailedError("pulumi is not on the PATH; install it (https://www.pulumi.com/docs/install/).");
  if (status !== 0)
    throw new PulumiFailedError(`pulumi ${args.slice(0, 2).join(" ")} exited with ${status}; see its output above.`);
}
