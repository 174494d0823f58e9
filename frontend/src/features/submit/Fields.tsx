// The fields of the submit form: what runs, on what, and how it is treated.
import { NumberInput, Select, Switch, TagsInput, Textarea, TextInput } from "@mantine/core";
import { useInfiniteQuery, useQuery } from "@tanstack/react-query";
import type { ReactNode } from "react";
import { useTranslation } from "react-i18next";
import { mapQuery, nodesQuery, queuesQuery, rows } from "@/api/queries";
import { meQuery } from "@/api/session";
import { Panel } from "@/ui/Panel";
import { Seg } from "@/ui/Seg";
import { type Choice, type JobForm, LEAST, SIMULATED } from "./form";
import "@mantine/core/styles/CloseButton.css";
import "@mantine/core/styles/Combobox.css";
import "@mantine/core/styles/Group.css";
import "@mantine/core/styles/Input.css";
import "@mantine/core/styles/InlineInput.css";
import "@mantine/core/styles/NumberInput.css";
import "@mantine/core/styles/Pill.css";
import "@mantine/core/styles/PillsInput.css";
import "@mantine/core/styles/Popover.css";
import "@mantine/core/styles/ScrollArea.css";
import "@mantine/core/styles/Switch.css";
import "@mantine/core/styles/UnstyledButton.css";

type Faults = Partial<Record<keyof JobForm, string>>;
const NODES_LOOKED_AT = 100;
interface FieldsProps { form: JobForm; faults: Faults; onChange: (change: Partial<JobForm>) => void }

export function Fields(props: FieldsProps) {
  const { t } = useTranslation();
  return (
    <div className="stack">
      <Panel title={t("submit.what")}><What {...props} /></Panel>
      <Panel title={t("submit.on")} meta={t("submit.onNote")}><On {...props} /></Panel>
      <Panel title={t("submit.how")}><How {...props} /></Panel>
    </div>
  );
}

/** What each kind of input needs: value, fault, and the way back into the form. */
function useInputs({ form, faults, onChange }: FieldsProps) {
  const { t } = useTranslation();
  const common = (field: keyof JobForm) => ({ label: t(`submit.field.${field}`), error: faults[field], size: "sm" as const });
  return {
    text: (field: "name" | "command" | "workingDir" | "env" | "deviceMemory" | "memory") => ({
      ...common(field), value: form[field], onChange: (event: { currentTarget: { value: string } }) => onChange({ [field]: event.currentTarget.value }),
    }),
    number: (field: "devices" | "replicas" | "computePercent" | "cores" | "priority" | "retries" | "limitMinutes") => ({
      ...common(field), value: form[field], allowDecimal: false, ...(LEAST[field] === undefined ? {} : { min: LEAST[field], allowNegative: false }), onChange: (value: number | string) => onChange({ [field]: value === "" ? "" : Number(value) }),
    }),
    tags: (field: "models" | "nodeSets" | "nodeLabels" | "datasets") => ({ ...common(field), value: form[field], onChange: (value: string[]) => onChange({ [field]: value }) }),
  };
}

function What(props: FieldsProps) {
  const { t } = useTranslation();
  const input = useInputs(props);
  const { form, faults, onChange } = props;
  const { data: queues } = useQuery(queuesQuery);
  const { data: me } = useQuery(meQuery);
  const teams = (me?.teams ?? []).map((team) => ({ value: team.slug, label: team.name }));
  return (
    <div className="fields">
      <Textarea {...input.text("command")} className="whole" classNames={{ input: "mono" }} autosize minRows={2} maxRows={10} required spellCheck={false}
        description={t("submit.hint.command")} placeholder="python3 train.py --epochs 10" />
      <Select label={t("submit.field.queue")} error={faults.queue} data={(queues ?? []).map((queue) => queue.name)} value={form.queue || null} required allowDeselect={false}
        onChange={(value) => onChange({ queue: value ?? "" })} />
      <TextInput {...input.text("name")} placeholder={t("submit.hint.name")} />
      {teams.length > 0 ? (
        <Select label={t("submit.field.team")} error={faults.team} data={teams} value={form.team || null} clearable placeholder={t("submit.hint.team")}
          onChange={(value) => onChange({ team: value ?? "" })} />
      ) : null}
      <TextInput {...input.text("workingDir")} className={teams.length > 0 ? undefined : "whole"} classNames={{ input: "mono" }} placeholder={t("submit.hint.workingDir")} />
      <Textarea {...input.text("env")} className="whole" classNames={{ input: "mono" }} autosize minRows={1} maxRows={8} spellCheck={false} placeholder="NAME=value" />
    </div>
  );
}

function On(props: FieldsProps) {
  const { t } = useTranslation();
  const input = useInputs(props);
  const { form, faults, onChange } = props;
  const { data: map } = useQuery(mapQuery);
  const wants = Number(form.devices) > 0 || form.deviceMemory !== "" || form.models.length > 0;
  return (
    <div className="fields">
      <NumberInput {...input.number("cores")} />
      <TextInput {...input.text("memory")} placeholder={t("submit.hint.memory")} />
      <NumberInput {...input.number("devices")} />
      <TagsInput {...input.tags("models")} data={map?.models ?? []} placeholder={form.models.length > 0 ? "" : t("job.anyModel")} />
      {wants ? (
        <>
          <TextInput {...input.text("deviceMemory")} placeholder={t("submit.hint.deviceMemory")} />
          <NumberInput {...input.number("computePercent")} allowDecimal decimalScale={1} min={0.1} max={100} placeholder={t("submit.hint.computePercent")} />
          <ChoiceField label={t("submit.field.shareable")} value={form.shareable} error={faults.shareable} onChange={(shareable) => onChange({ shareable })} />
          <ChoiceField label={t("submit.field.splittable")} value={form.splittable} error={faults.splittable} onChange={(splittable) => onChange({ splittable })} />
        </>
      ) : null}
      <NumberInput {...input.number("replicas")} max={256} description={t("submit.hint.replicas")} />
    </div>
  );
}

function How(props: FieldsProps) {
  const { t } = useTranslation();
  const input = useInputs(props);
  const { form, onChange } = props;
  const classes = (["auto", "compute", "data"] as const).map((value) => ({ value, label: t(`submit.cpuClass.${value}`) }));
  return (
    <div className="fields">
      <NumberInput {...input.number("priority")} min={-1000} max={1000} />
      <NumberInput {...input.number("retries")} max={10} />
      <NumberInput {...input.number("limitMinutes")} placeholder={t("submit.hint.limitMinutes")} />
      <Labelled label={t("submit.field.cpuClass")}><Seg value={form.cpuClass} options={classes} label={t("submit.field.cpuClass")} onChange={(cpuClass) => onChange({ cpuClass })} /></Labelled>
      <TagsInput {...input.tags("nodeSets")} placeholder={form.nodeSets.length > 0 ? "" : t("submit.hint.nodeSets")} />
      <TagsInput {...input.tags("datasets")} placeholder={form.datasets.length > 0 ? "" : t("submit.hint.datasets")} />
      <TagsInput {...input.tags("nodeLabels")} className="whole" placeholder={form.nodeLabels.length > 0 ? "" : t("submit.hint.nodeLabels")} acceptValueOnBlur />
      <Simulated {...props} />
      <Switch className="whole" size="sm" label={t("submit.field.deferrable")} description={t("submit.hint.deferrable")} checked={form.deferrable}
        onChange={(event) => onChange({ deferrable: event.currentTarget.checked })} />
      <Switch className="whole" size="sm" label={t("submit.field.strictSingle")} description={t("submit.hint.strictSingle")} checked={form.strictSingle}
        onChange={(event) => onChange({ strictSingle: event.currentTarget.checked })} />
    </div>
  );
}

/** Shown where there are nodes that only pretend to run jobs; without their label no job goes there. */
function Simulated({ form, onChange }: FieldsProps) {
  const { t } = useTranslation();
  const { data: nodes } = useInfiniteQuery(nodesQuery({ limit: NODES_LOOKED_AT }));
  const chosen = form.nodeLabels.includes(SIMULATED);
  if (!chosen && !rows(nodes).some((node) => node.simulated)) return null;
  const others = form.nodeLabels.filter((label) => label !== SIMULATED);
  return (
    <Switch className="whole" size="sm" label={t("submit.field.simulated")} description={t("submit.hint.simulated")} checked={chosen}
      onChange={(event) => onChange({ nodeLabels: event.currentTarget.checked ? [...others, SIMULATED] : others })} />
  );
}

function Labelled({ label, children }: { label: string; children: ReactNode }) {
  return <div className="labelled"><span>{label}</span>{children}</div>;
}

/** Yes, no, or what the queue presumes. */
function ChoiceField({ label, value, error, onChange }: { label: string; value: Choice; error: string | undefined; onChange: (value: Choice) => void }) {
  const { t } = useTranslation();
  const options = (["", "yes", "no"] as const).map((option) => ({ value: option, label: t(`submit.choice.${option || "queue"}`) }));
  return (
    <Labelled label={label}>
      <Seg value={value} options={options} label={label} onChange={onChange} />
      {error ? <span className="sm crit" role="alert">{error}</span> : null}
    </Labelled>
  );
}
