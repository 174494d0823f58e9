export default {
  title: "登录",
  username: "用户名或邮箱",
  password: "密码",
  enter: "登录",
  busy: "正在登录",
  failure: {
    "wrong-password": "用户名或密码错误。",
    "too-many-attempts": "尝试次数过多，请几分钟后再试。",
    "second-factor": "该账户需要第二因素，本页面尚不支持，请使用 API 令牌。",
    unreachable: "服务器没有响应。",
    "server-error": "服务器报告错误，请稍后再试。",
  },
};
