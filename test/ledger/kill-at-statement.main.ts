import { Socket } from "node:net";

/**
 * Loaded into a service before its own program. After SIGUSR2, kills the process with SIGKILL at the last of these consecutive statements:
 * either before PostgreSQL receives it, or after PostgreSQL has executed it but before the process gets the response.
 */
const { statements, moment } = JSON.parse(process.env["TEST_KILL_AT_STATEMENT"] ?? "{}") as Readonly<{
  statements: string[];
  moment: "before" | "after";
}>;
/**
 * End of the server's response to a statement (PostgreSQL protocol, "ReadyForQuery"), with its distance from the end of
 * the response.
 */
const ready = { byte: 0x5a, at: -6 };

let isArmed = false;
process.on("SIGUSR2", () => {
  isArmed = true;
});
const end = () => process.kill(process.pid, "SIGKILL");
const write = Socket.prototype.write;
Socket.prototype.write = function (this: Socket, ...args: Parameters<typeof write>) {
  const [data] = args;
  const [next] = statements;
  if (isArmed && next !== undefined && data instanceof Uint8Array && Buffer.from(data).includes(next)) {
    statements.shift();
    if (statements.length === 0 && moment === "before") end();
    else if (statements.length === 0)
      this.prependListener("data", (response: Buffer) => {
        if (response.at(ready.at) === ready.byte) end();
      });
  }
  return write.apply(this, args);
} as typeof write;
