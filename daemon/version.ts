import packageJson from "../package.json" with { type: "json" };

/** The version of Gatehouse, as package.json has it. */
export const version: string = packageJson.version;
