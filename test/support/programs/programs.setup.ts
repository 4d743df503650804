export { compilePrograms as default } from "./compile.ts";
