"""Every sentence the command says, in English and Chinese."""

from __future__ import annotations

import os

CATALOGUE: dict[str, tuple[str, str]] = {
    "signed-in": (
        "Signed in to {url} as {username}; the token is stored in {path}.",
        "已以 {username} 登录 {url}；令牌保存在 {path}。",
    ),
    "submitted": ("Job {job} submitted to {queue}.", "作业 {job} 已提交到队列 {queue}。"),
    "status": ("Job {job}: {status}", "作业 {job}：{status}"),
    "status-where": (
        "Job {job}: {status} on {node}, cores {cpus}",
        "作业 {job}：{status}，节点 {node}，核心 {cpus}",
    ),
    "waiting": ("Job {job} waits: {text}", "作业 {job} 等待中：{text}"),
    "attempt": (
        "Job {job}: attempt {attempt} starts; the log begins anew.",
        "作业 {job}：第 {attempt} 次尝试开始；日志重新开始。",
    ),
    "log-incomplete": (
        "Job {job}: the end of the log has not arrived yet; see later: headrace logs {job}",
        "作业 {job}：日志的结尾尚未到达；稍后查看：headrace logs {job}",
    ),
    "ended": ("Job {job} {status}: {outcome}", "作业 {job} {status}：{outcome}"),
    "exit-code": ("exit code {code}", "退出码 {code}"),
    "exit-signal": ("ended by signal {signal}", "被信号 {signal} 终止"),
    "no-exit": ("no exit code", "没有退出码"),
    "timeout": (
        "Job {job} has not ended after {seconds} s. It goes on; cancel it with: headrace cancel {job}",
        "{seconds} 秒后作业 {job} 尚未结束。它会继续运行；取消请用：headrace cancel {job}",
    ),
    "detached": (
        "No longer watching. Job {job} goes on: headrace wait {job} · headrace cancel {job}",
        "已停止查看。作业 {job} 继续运行：headrace wait {job} · headrace cancel {job}",
    ),
    "cancelled": (
        "Job {job}: cancellation asked for, now {status}.",
        "作业 {job}：已请求取消，当前状态 {status}。",
    ),
    "job-is": ("Job {job} is {status}.", "作业 {job} 当前状态：{status}。"),
    "is-cancelled": ("Job {job} is cancelled.", "作业 {job} 已取消。"),
    "ended-before": (
        "Job {job} has ended already ({status}); there is nothing to cancel.",
        "作业 {job} 已经结束（{status}），无需取消。",
    ),
    "job-changed": ("Job {job}: done.", "作业 {job}：已完成。"),
    "job-unchanged": ("Job {job}: nothing to do.", "作业 {job}：无需操作。"),
    "bad-number": ("{option} takes whole numbers, not {value!r}", "{option} 只接受整数，不接受 {value!r}"),
    "all-models": ("all models", "全部型号"),
    "quota-set": ("Quota {quota} is set.", "配额 {quota} 已设置。"),
    "cap-set": (
        "Queue {queue} may hold {percent} % now; that is a new version of the policy.",
        "队列 {queue} 的上限现为 {percent} %；这是新的策略版本。",
    ),
    "reason-needed": ("Say why, with --reason.", "请用 --reason 说明原因。"),
    "team-quotas": ("Quotas", "配额"),
    "team-now": ("Now, by queue", "当前，按队列"),
    "team-members": ("Members", "成员"),
    "team-days": (
        "By day, in hours of devices, and of cores for jobs without devices",
        "按天，设备小时；无设备作业为核小时",
    ),
    "team-waits": ("Waits of the jobs that started in these days", "这些天内启动的作业的等待"),
    "calendar-zone": (
        "Windows by the clocks of {zone}; times are yours.",
        "窗口按 {zone} 的时钟；显示为您的时间。",
    ),
    "calendar-valleys": ("Valley windows: deferrable jobs may start", "低谷窗口：可延后的作业可以启动"),
    "calendar-peaks": ("Peak hours", "高峰时段"),
    "calendar-power": ("Caps on power", "功率上限"),
    "calendar-promised": ("Promised starts", "已承诺的启动"),
    "calendar-nodes": ("Nodes out of service", "停用的节点"),
    "no-cap": ("no cap", "无上限"),
    "forecast-basis": (
        "Known from: ends by a time limit {by_time_limit}, by how long such jobs usually run {by_history}, "
        "less promised starts {promised}. Ends that nobody knows: {end_unknown}. New jobs are not foreseen.",
        "依据：按时限结束 {by_time_limit}，按此类作业通常时长结束 {by_history}，减去已承诺的启动 {promised}。"
        "结束时间未知：{end_unknown}。未预计新作业。",
    ),
    "no-such-template": ("There is no template {name}.", "没有名为 {name} 的模板。"),
    "which-template": (
        "Several teams have a template {name}; say --team.",
        "多个团队有模板 {name}；请用 --team 指定。",
    ),
    "template-saved": ("Template {name} of team {team} is saved.", "团队 {team} 的模板 {name} 已保存。"),
    "template-gone": ("Template {name} is removed.", "模板 {name} 已移除。"),
    "empty-templates": ("No templates.", "没有模板。"),
    "would-be-over": (
        "{who} would be over: holds {held} devices, might hold {cap}. Nothing of it is ended.",
        "{who} 将超额：占用 {held} 个设备，上限 {cap}。不会结束其任何作业。",
    ),
    "would-starts": ("Waiting jobs that would start: {total}", "将会启动的等待作业：{total}"),
    "would-waits": ("Jobs that would wait instead of starting: {total}", "将由启动变为等待的作业：{total}"),
    "array-cancelled": ("Array {array}: tasks cancelled: {tasks}.", "数组 {array}：已取消 {tasks} 个任务。"),
    "jobs-left": ("{left} more match.", "还有 {left} 个符合条件。"),
    "some-refused": ("Some jobs were refused.", "部分作业被拒绝。"),
    "about-job": ("Job {job}: {detail}", "作业 {job}：{detail}"),
    "would-start": (
        "Would start now on {node}: cores {cpus}, devices {devices}.",
        "现在就会启动：节点 {node}，核心 {cpus}，设备 {devices}。",
    ),
    "would-yield": ("Asked to leave for it: {jobs}", "将请其离开：{jobs}"),
    "would-wait": ("Would wait: {text}", "将会等待：{text}"),
    "placed": (
        "Cores {cpus}, devices {devices}; score {score}.",
        "核心 {cpus}，设备 {devices}；得分 {score}。",
    ),
    "summary-waits": ("--summary goes with --wait", "--summary 需与 --wait 一起使用"),
    "summary-job": ("Job", "作业"),
    "summary-status": ("status", "状态"),
    "summary-cause": ("cause", "原因"),
    "summary-queue": ("queue", "队列"),
    "summary-node": ("node", "节点"),
    "summary-cpus": ("cores", "核心"),
    "summary-devices": ("devices", "设备"),
    "summary-waited": ("waited", "等待"),
    "summary-ran": ("ran", "运行"),
    "summary-attempt": ("attempt", "尝试"),
    "summary-goes-on": ("it goes on", "仍在继续"),
    "wait-held": ("held", "搁置"),
    "wait-pending": ("in the queue", "排队"),
    "wait-image_pull": ("image", "镜像"),
    "wait-start": ("start", "启动"),
    "host-limit": ("Host memory: {limit}.", "主机内存：{limit}。"),
    "not-isolated": (
        "The agent of this node is not root: the job runs as the agent's own user.",
        "该节点的代理不是 root：作业以代理自己的用户身份运行。",
    ),
    "filters": ("nodes left after each filter", "每个过滤条件后剩余的节点"),
    "removed": ("removed", "移除"),
    "left": ("left", "剩余"),
    "near": ("nearest nodes", "最接近的节点"),
    "near-node": (
        "{node} ({code}): needs {needed}, has {available}, {short} short",
        "{node}（{code}）：需要 {needed}，可用 {available}，还差 {short}",
    ),
    "in-pieces": ("in pieces: {pieces}", "分块：{pieces}"),
    "runners-up": ("next best nodes", "次优节点"),
    "same-score": ("the same", "相同"),
    "estimate": (
        "Expected to start at {at} on {node}, once these jobs end: {jobs} ({basis}).",
        "预计 {at} 在 {node} 启动，待以下作业结束后：{jobs}（{basis}）。",
    ),
    "estimate-earliest": (
        "Expected to start at {at} at the earliest, on {node}, once these jobs end: {jobs} ({basis}); "
        "not all jobs served before it could be counted.",
        "预计最早 {at} 在 {node} 启动，待以下作业结束后：{jobs}（{basis}）；未能计入排在其前面的全部作业。",
    ),
    "no-decision": (
        "Nothing was decided about this job; its status is {status}.",
        "尚未对此作业作出决策；其状态为 {status}。",
    ),
    "no-estimate": (
        "When it could start is unknown: no known end of a running job would let it.",
        "何时能启动未知：没有已知结束时间的运行作业能为其腾出空间。",
    ),
    "reserved": (
        "It waited long: from {at} on its place on {nodes} is kept for it.",
        "该作业已等待较久：自 {at} 起在 {nodes} 上为其保留位置。",
    ),
    "basis-time-limit": ("by their time limits", "依据其时限"),
    "basis-history": ("by how long such jobs usually run", "依据同类作业通常的运行时长"),
    "basis-mixed": (
        "by time limits and by how long such jobs usually run",
        "依据时限及同类作业通常的运行时长",
    ),
    "takes-nothing": ("Nothing now: {text}", "当前什么都不能：{text}"),
    "fits-most": (
        "At most now: {alone} alone or {shared} shared, {percent} % of the device; on its node {cores} "
        "and {memory} of memory.",
        "当前至多：独占 {alone} 或共享 {shared}，设备的 {percent} %；所在节点 {cores}、{memory} 内存。",
    ),
    "fitting-jobs": ("Waiting jobs that would fit: {total}", "可放下的等待作业：{total}"),
    "no-such-device": (
        "There is no device {device}: say its number, or NODE/INDEX.",
        "没有设备 {device}：请给出其编号，或 节点/序号。",
    ),
    "about-device": ("Device {device}: {detail}", "设备 {device}：{detail}"),
    "about-watched": ("Watched node {watched}: {detail}", "被监视节点 {watched}：{detail}"),
    "watched": (
        "Watched as {id}; the first look at {address} comes within seconds.",
        "已作为 {id} 监视；数秒内首次查看 {address}。",
    ),
    "fetching-on": ("Images are fetched on entry {id} ahead of demand.", "条目 {id} 将提前拉取镜像。"),
    "fetching-off": ("No more images are fetched on entry {id}.", "条目 {id} 不再拉取镜像。"),
    "unwatched": ("Entry {id} is removed.", "条目 {id} 已移除。"),
    "empty-watched": (
        "No node is watched over SSH. Add one: headrace node watch ADDRESS --user USER --key KEY",
        "没有通过 SSH 监视的节点。添加：headrace node watch 地址 --user 用户 --key 密钥",
    ),
    "image-hits": (
        "{hits} of {starts} starts in {days} days found their image on the node.",
        "{days} 天内 {starts} 次启动中有 {hits} 次镜像已在节点上。",
    ),
    "image-share": ("Share of fetching in the wait: {share}", "拉取占等待的比例：{share}"),
    "image-pull-part": ("fetching", "拉取"),
    "image-wait-part": ("whole wait", "全部等待"),
    "ordered": ("ordered", "已下达"),
    "some-nodes-refused": ("On some nodes nothing was done.", "部分节点上未执行任何操作。"),
    "no-such-image": ("There is no image called {image}.", "没有名为 {image} 的镜像。"),
    "several-images": (
        "Several images end in {image}: give the whole name; see headrace images list.",
        "有多个镜像以 {image} 结尾：请给出完整名称；参见 headrace images list。",
    ),
    "no-such-node": ("There is no node called {node}.", "没有名为 {node} 的节点。"),
    "grep-follows": (
        "--grep does not go with -f: it looks through what there is now.",
        "--grep 不能与 -f 同用：它只查找现有内容。",
    ),
    "with-grep": ("-i and -C go with --grep.", "-i 和 -C 需与 --grep 一起使用。"),
    "top": ("{time} · running jobs: {jobs}", "{time} · 运行中的作业：{jobs}"),
    "yes": ("yes", "是"),
    "no": ("no", "否"),
    "host-key": (
        "{address} shows the host key {fingerprint}\n"
        "Compare it with what this prints on the machine: ssh-keygen -lf /etc/ssh/ssh_host_ed25519_key.pub",
        "{address} 出示主机密钥 {fingerprint}\n"
        "请与该机器上此命令的输出比对：ssh-keygen -lf /etc/ssh/ssh_host_ed25519_key.pub",
    ),
    "same-host-key": ("Is it the same?", "两者一致吗？"),
    "other-host-key": (
        "The host key {fingerprint} of {address} was not confirmed; nothing was changed.",
        "{address} 的主机密钥 {fingerprint} 未经确认；未作任何更改。",
    ),
    "not-seen": ("not seen yet", "尚未见到"),
    "not-looked-at": ("not looked at yet", "尚未查看"),
    "look-fine": ("fine", "正常"),
    "changes": ("smallest changes that help", "最小的有效改动"),
    "none": ("none", "无"),
    "unknown": ("unknown", "未知"),
    "empty-jobs": ("No jobs match.", "没有符合条件的作业。"),
    "empty-nodes": (
        "No nodes yet. Enrol one from the console: Nodes, Enrol a node.",
        "还没有节点。请在控制台登记：节点 → 登记节点。",
    ),
    "not-signed-in": (
        "Not signed in, or the token is no longer valid. Run: headrace login",
        "未登录，或令牌已失效。请运行：headrace login",
    ),
    "bad-credentials": ("Wrong user name or password.", "用户名或密码错误。"),
    "perhaps-submitted": (
        "The job may have been submitted all the same: with --idempotency-key {idempotency_key} it is submitted once.",
        "作业可能已经提交：使用 --idempotency-key {idempotency_key} 重新提交，只会生成一个作业。",
    ),
    "unreachable": ("Cannot reach the server: {detail}", "无法连接服务器：{detail}"),
    "odd-answer": (
        "The server does not answer like a Headrace server ({detail})",
        "服务器的应答不像 Headrace 服务器（{detail}）",
    ),
    "odd-kind": ("a field is not of the documented kind", "某个字段的类型与文档不符"),
    "odd-missing": ("{field} is missing", "缺少 {field}"),
    "odd-object": ("{field} is no object", "{field} 不是对象"),
    "odd-untyped": ("no content type", "无内容类型"),
    "no-command": (
        "Say what to run: headrace submit [options] -- COMMAND [ARGUMENTS]",
        "请给出要运行的命令：headrace submit [选项] -- 命令 [参数]",
    ),
    "bad-pair": ("{option} takes KEY=VALUE, not {value!r}", "{option} 的格式是 KEY=VALUE，不是 {value!r}"),
    "bad-file": ("{path}: {detail}", "{path}：{detail}"),
    "no-object": ("not a JSON object", "不是 JSON 对象"),
    "username": ("User name", "用户名"),
    "password": ("Password", "密码"),
    "column-id": ("id", "编号"),
    "column-name": ("name", "名称"),
    "column-status": ("status", "状态"),
    "column-queue": ("queue", "队列"),
    "column-team": ("team", "团队"),
    "column-owner": ("owner", "所有者"),
    "column-node": ("node", "节点"),
    "column-submitted": ("submitted", "提交时间"),
    "column-exit": ("exit", "退出"),
    "column-state": ("state", "状态"),
    "column-cores": ("cores", "核心"),
    "column-memory": ("memory GiB", "内存 GiB"),
    "column-devices": ("devices", "设备"),
    "column-device-use": ("device use", "设备使用率"),
    "column-device-memory": ("device GiB", "显存 GiB"),
    "column-cpu": ("cores used", "核心使用"),
    "column-age": ("runs", "已运行"),
    "column-way": ("way", "路径"),
    "column-fails": ("failed looks", "失败次数"),
    "column-look": ("last look", "最近一次查看"),
    "column-model": ("model", "型号"),
    "column-quota": ("devices", "设备"),
    "column-shares": ("shares", "份额"),
    "column-tasks": ("tasks", "任务"),
    "column-at-once": ("at once", "同时"),
    "column-counts": ("counts", "计数"),
    "column-report": ("last report", "最近上报"),
    "column-image": ("image", "镜像"),
    "column-size": ("size", "大小"),
    "column-nodes": ("nodes", "节点"),
    "column-wanted": ("wanted", "待拉取"),
    "column-starts": ("starts", "启动"),
    "column-hits": ("hits", "命中"),
    "column-pull-p50": ("fetch P50", "拉取 P50"),
    "column-pull-p95": ("fetch P95", "拉取 P95"),
    "column-pull-p99": ("fetch P99", "拉取 P99"),
    "column-here": ("here", "已有"),
    "column-stage": ("ahead of demand", "预拉取"),
    "column-why": ("why", "原因"),
    "column-fetched": ("ended", "结束"),
    "column-took": ("took", "用时"),
    "column-problem": ("problem", "问题"),
    "column-from": ("from", "起"),
    "column-to": ("to", "止"),
    "column-cap": ("cap", "上限"),
    "column-job": ("job", "作业"),
    "column-deadline": ("moved at", "迁移时间"),
    "column-reason": ("reason", "原因"),
    "column-free-devices": ("free devices", "空闲设备"),
    "column-whole-devices": ("whole ones", "整台"),
    "column-free-cores": ("free cores", "空闲核"),
    "column-unknown-devices": ("devices, end unknown", "结束未知的设备"),
    "column-unknown-cores": ("cores, end unknown", "结束未知的核"),
    "column-description": ("description", "说明"),
    "column-role": ("role", "角色"),
    "column-running": ("running", "运行"),
    "column-waiting": ("waiting", "等待"),
    "column-day": ("day", "日期"),
    "column-device-hours": ("device hours", "设备小时"),
    "column-core-hours": ("core hours", "核小时"),
    "column-by-queue": ("by queue", "按队列"),
    "column-mean": ("mean", "均值"),
    "column-p50": ("P50", "P50"),
    "column-p95": ("P95", "P95"),
    "column-p99": ("P99", "P99"),
    "word-wanted": ("wanted", "待拉取"),
    "word-done": ("fetched", "已拉取"),
    "word-pruning": ("to be removed", "待移除"),
    "word-pruned": ("removed", "已移除"),
    "word-waiting": ("a job waits", "有作业等待"),
    "word-usual": ("usual here", "此处常用"),
    "word-person": ("ordered", "人工下达"),
    "word-limit-hardware": ("enforced by the hardware", "由硬件强制"),
    "word-limit-control-group": ("enforced by the node", "由节点强制"),
    "word-limit-watched": ("only watched", "仅监视"),
    "word-limit-none": ("none booked", "未预订"),
    "word-lead": ("lead", "负责人"),
    "word-member": ("member", "成员"),
    "word-held": ("held", "搁置"),
    "word-pending": ("pending", "排队"),
    "word-starting": ("starting", "启动中"),
    "word-running": ("running", "运行中"),
    "word-suspending": ("suspending", "暂停中"),
    "word-suspended": ("suspended", "已暂停"),
    "word-preempting": ("preempting", "被抢占"),
    "word-succeeded": ("succeeded", "成功"),
    "word-failed": ("failed", "失败"),
    "word-cancelled": ("cancelled", "已取消"),
    "word-cordoned": ("cordoned", "已封锁"),
    "word-silent": ("silent", "失联"),
    "word-ready": ("ready", "就绪"),
    "word-enrolled": ("enrolled", "已登记"),
    "word-draining": ("draining", "排空中"),
    "word-maintenance": ("maintenance", "维护中"),
    "word-lost": ("lost", "已丢失"),
    "word-quarantined": ("quarantined", "已隔离"),
    "word-resource-fit": ("resource-fit", "资源匹配"),
    "word-affinity": ("affinity", "亲和"),
    "word-topology": ("topology", "拓扑"),
    "word-balance": ("balance", "均衡"),
    "word-fragmentation-penalty": ("fragmentation-penalty", "碎片"),
    "word-power": ("power", "功率"),
    "word-cores": ("cores", "核"),
    "word-devices": ("devices", "个设备"),
    "word-replicas": ("replicas", "个副本"),
}


# Units that are things which are counted.
COUNTED = frozenset({"cores", "devices", "replicas"})


def language() -> str:
    """`zh` when the environment asks for Chinese, else `en`."""
    for name in ("HEADRACE_LANG", "LC_ALL", "LC_MESSAGES", "LANG"):
        if value := os.environ.get(name):
            return "zh" if value.lower().startswith("zh") else "en"
    return "en"


def say(key: str, **params: object) -> str:
    """One sentence of the catalogue in the caller's language."""
    english, chinese = CATALOGUE[key]
    return (chinese if language() == "zh" else english).format(**params)


def word(name: str) -> str:
    """A status, state, term or unit of the server in the caller's language; one that is not known here as it is."""
    key = f"word-{name}"
    return say(key) if key in CATALOGUE else name


def counted(number: int, unit: str) -> str:
    """A number with its unit, of which English has one form for one."""
    said = word(unit)
    return f"{number} {said.removesuffix('s') if number == 1 and language() == 'en' and unit in COUNTED else said}"
