import { methodReference } from "./reference.ts";

process.stdout.write(methodReference());
