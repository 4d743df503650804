import { z } from "zod";
import { isFixed } from "#daemon/settings/section.ts";

export type ConstantOverrides = Readonly<Record<string, number | string>>;

/** Changes constants in the settings that this process reads, until it is disposed of. */
export function replaceConstants(schema: z.ZodObject, constants: ConstantOverrides): Disposable {
  const resources = new DisposableStack();
  for (const [path, value] of Object.entries(constants)) {
    let found: z.core.$ZodType = schema;
    for (const key of path.split(".")) {
      const object = found instanceof z.ZodPrefault ? found.def.innerType : found;
      const inner = object instanceof z.ZodObject ? (object.shape as z.core.$ZodShape)[key] : undefined;
      if (inner === undefined) throw new Error(`${path} is not a constant`);
      found = inner;
    }
    if (!isFixed(found)) throw new Error(`${path} is not a constant`);
    const { def } = found;
    const before = Object.getOwnPropertyDescriptor(def, "defaultValue") ?? {};
    Object.defineProperty(def, "defaultValue", { value, configurable: true });
    resources.defer(() => void Object.defineProperty(def, "defaultValue", before));
  }
  return resources;
}
