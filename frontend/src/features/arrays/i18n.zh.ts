export default {
  title: "进行中的数组",
  array: "数组", tasks: "任务", atOnce: "同时进行", counts: "任务状态",
  cancelOne: "取消数组 {{array}}",
  cancelIt: "取消全部任务",
  cancelEffect: "{{owner}} 尚未结束的全部任务都会结束，未保存的内容会丢失，且无法撤销。",
  chosen: "数组 {{array}}",
};
